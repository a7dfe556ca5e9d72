/// The directories of a store, compared with its catalog.
struct StoreInventory: Equatable {
    /// Directories of deleted topics.
    private(set) var removed: [LogDirectory] = []
    /// Neither named by the catalog nor listed as removed.
    private(set) var unnamed: [LogDirectory] = []
    /// Named by the catalog and not there.
    private(set) var missing: [LogDirectory] = []

    init(catalog: TopicCatalog, found: [LogDirectory]) {
        let named = Set(catalog.entries.flatMap(\.directories))
        missing = named.subtracting(found).sorted()
        for directory in found.sorted() where !named.contains(directory) {
            if catalog.allowsRemoval(of: directory) {
                removed.append(directory)
            } else {
                unnamed.append(directory)
            }
        }
    }
}
