package import CatalogRecords

/// The parts of the catalog that the expander needs: the push topics of apps and the rules of segments.
package protocol ExpanderCatalog {
    func app(_ id: String) -> App?
    func segment(_ name: String, of app: String) -> SegmentRule?
}
