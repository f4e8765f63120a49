-- One row per GPU of a scenario, as recorded, with the product that its model names.
-- A product that is known not to sit on an HGX board does not, whatever the scenario says.
--   product: Product id of the model (reference/products.csv knows reported names and ids); NULL when it is not listed.
WITH products AS (
    SELECT model AS name, product, is_hgx FROM ref_products
    UNION
    SELECT product AS name, product, is_hgx FROM ref_products
),
named AS (
    SELECT name, min(product) AS product, min(is_hgx) AS is_hgx FROM products GROUP BY name
)
SELECT
    gpus.* REPLACE (CASE WHEN named.is_hgx = 'false' THEN false ELSE gpus.is_hgx END AS is_hgx),
    named.product
FROM evidence.scenario_gpus AS gpus
LEFT JOIN named ON gpus.model = named.name
