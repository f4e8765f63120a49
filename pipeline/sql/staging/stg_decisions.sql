-- One row per decision; its product by id, whether it names the id or the reported model.
SELECT decisions.* REPLACE (coalesce(products.product, decisions.product) AS product)
FROM evidence.decisions AS decisions
LEFT JOIN ref_products AS products ON decisions.product = products.model
