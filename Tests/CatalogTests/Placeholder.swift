enum CatalogTestsPlaceholder {}
