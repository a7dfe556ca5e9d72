package import LiveActivity

/// What the expander needs of the catalogue: where an app's pushes go, and who is in a segment.
package protocol ExpanderCatalog {
    func app(_ id: String) -> App?
    func segment(_ name: String, of app: String) -> SegmentRule?
}
