extension TopicStore {
    /// Creates a topic. When this returns, the topic survives a crash.
    ///
    /// The directories come before the catalog, because a catalog that names a missing directory prevents
    /// a start. A start removes empty directories that no catalog names.
    package func create(
        _ name: String, partitions: Int32, settings: [String: String] = [:], isInternal: Bool = false
    ) throws(TopicStoreError) -> Topic {
        try checkCreation(of: name, partitions: partitions, settings: settings)
        var generator = SystemRandomNumberGenerator()
        let entry = TopicCatalog.Entry(
            name: name, id: .random(using: &generator), isInternal: isInternal,
            serial: catalog.nextSerial, partitionCount: partitions, settings: settings)
        var newCatalog = catalog
        newCatalog.nextSerial += 1
        newCatalog.entries.append(entry)
        do throws(DiskError) {
            for directory in entry.directories {
                try environment.disk.makeDirectory(at: logPath(of: directory))
            }
            try environment.disk.syncDirectory(at: logsPath)
        } catch {
            throw .disk(error)
        }
        try save(newCatalog)
        do throws(TopicStoreError) {
            try open(entry)
        } catch {
            undoCreation(of: entry)
            throw error
        }
        guard let topic = topic(named: name) else { throw .unknown(name) }
        return topic
    }

    /// Throws the error that `create` would throw, for a request that only validates.
    package func checkCreation(
        of name: String, partitions: Int32, settings: [String: String]
    ) throws(TopicStoreError) {
        guard Topic.isValidName(name) else { throw .badName(name) }
        guard topic(named: name) == nil else { throw .exists(name) }
        guard (1...Self.partitionsMax).contains(partitions) else { throw .badPartitionCount(partitions) }
        do throws(TopicSettingError) {
            _ = try TopicSettings(overrides: settings)
        } catch {
            throw .badSetting(error)
        }
    }

    /// Deletes a topic with its records. When this returns, the topic does not come back after a crash.
    package func delete(_ name: String) throws(TopicStoreError) {
        guard let topic = topic(named: name) else { throw .unknown(name) }
        var newCatalog = catalog
        newCatalog.remove(name: name, serial: topic.serial)
        try save(newCatalog)
        removeTopic(topic)
        // If the process ends before this, the next start removes the directories, because the catalog
        // lists them as removed.
        worker.submit(.removeDirectories(topic.partitions.map(\.directory)))
    }

    /// Replaces all settings of a topic.
    package func alter(_ name: String, settings overrides: [String: String]) throws(TopicStoreError) {
        guard let topic = topic(named: name) else { throw .unknown(name) }
        let settings: TopicSettings
        do throws(TopicSettingError) {
            settings = try TopicSettings(overrides: overrides)
        } catch {
            throw .badSetting(error)
        }
        var newCatalog = catalog
        for index in newCatalog.entries.indices where newCatalog.entries[index].name == name {
            newCatalog.entries[index].settings = overrides
        }
        try save(newCatalog)
        topic.settings = settings
        for log in topic.partitions { log.settings = settings }
    }

    /// Removes a topic whose logs could not be opened. If the catalog cannot be saved, the topic exists
    /// again after a crash, without records.
    private func undoCreation(of entry: TopicCatalog.Entry) {
        var newCatalog = catalog
        newCatalog.remove(name: entry.name, serial: entry.serial)
        do throws(TopicStoreError) {
            try save(newCatalog)
        } catch {
            // The failed save has raised the revision, and upkeep saves this catalog later.
            newCatalog.revision = catalog.revision
            catalog = newCatalog
            return
        }
        worker.submit(.removeDirectories(entry.directories.map { logPath(of: $0) }))
    }
}
