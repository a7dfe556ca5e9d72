/// The directories of a store, compared with its catalog.
struct StoreInventory: Equatable {
    /// Existing directories of deleted topics.
    private(set) var removable: [LogDirectory] = []
    /// Existing directories that the catalog neither names nor lists as removed.
    private(set) var unnamed: [LogDirectory] = []
    /// Directories that the catalog names and that do not exist.
    private(set) var missing: [LogDirectory] = []

    init(catalog: TopicCatalog, found existing: [LogDirectory]) {
        let named = Set(catalog.entries.flatMap(\.directories))
        missing = named.subtracting(existing).sorted()
        for directory in existing.sorted() where !named.contains(directory) {
            if catalog.allowsRemoval(of: directory) {
                removable.append(directory)
            } else {
                unnamed.append(directory)
            }
        }
    }
}
