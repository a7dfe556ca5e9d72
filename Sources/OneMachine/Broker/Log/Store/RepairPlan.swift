/// The steps that make a catalog and its directories fit together again. No step removes a record.
package struct RepairPlan: Equatable, Sendable {
    /// The catalog to write; nil if the current one is right.
    var catalog: TopicCatalog?
    /// Missing directories of partitions, which begin empty.
    var createdDirectories: [LogDirectory] = []
    /// Directories that belong to no topic of the catalog and move out of the way.
    var setAside: [LogDirectory] = []

    package var isEmpty: Bool { catalog == nil && createdDirectories.isEmpty && setAside.isEmpty }

    /// One sentence for each step.
    package var sentences: [String] {
        let newTopics = (catalog?.entries ?? []).map {
            """
            catalog: topic \($0.name) with \($0.partitionCount) partitions; it keeps all records \
            until `flotilla topics alter`
            """
        }
        let emptyPartitions = createdDirectories.map {
            "directory \($0.name) is missing: its partition begins empty"
        }
        let movedDirectories = setAside.map {
            "directory \($0.name) belongs to no topic: it moves to \(StoreRepair.setAsideName)"
        }
        return newTopics + emptyPartitions + movedDirectories
    }

    init(catalog: TopicCatalog, found: [LogDirectory]) {
        let inventory = StoreInventory(catalog: catalog, found: found)
        createdDirectories = inventory.missing
        setAside = inventory.unnamed
    }

    /// Makes a plan with a new catalog from the names of directories. The settings are lost, so each topic
    /// gets settings that remove no records. `flotilla topics alter` gives it its own again.
    init(
        rebuilding clusterID: String, found: [LogDirectory],
        using generator: inout some RandomNumberGenerator
    ) {
        var catalog = TopicCatalog(clusterID: clusterID)
        catalog.nextSerial = (found.map(\.serial).max() ?? 0) + 1
        for (name, directories) in Dictionary(grouping: found, by: \.topic).sorted(by: { $0.key < $1.key }) {
            // A smaller serial belongs to a deleted topic of the same name.
            let serial = directories.map(\.serial).max() ?? 0
            let partitions = directories.filter { $0.serial == serial }.map(\.partition)
            let isInternal = CoordinatorTopic.names.contains(name)
            catalog.entries.append(
                TopicCatalog.Entry(
                    name: name, id: .random(using: &generator), isInternal: isInternal, serial: serial,
                    partitionCount: (partitions.max() ?? 0) + 1,
                    settings: isInternal ? CoordinatorTopic.settings : Self.settingsThatKeep))
        }
        self.init(catalog: catalog, found: found)
        self.catalog = catalog
    }

    private static let settingsThatKeep = ["cleanup.policy": "delete", "retention.ms": "-1"]
}
