internal import Telemetry

extension TopicStore {
    /// Reads the catalog and compares it with the directories. Refuses to start if they do not fit
    /// together, removes the logs that the catalog lists as removed, and writes both copies again if one
    /// of them differs.
    func openCatalog() throws(TopicStoreError) {
        let directories = try findDirectories()
        let first = copies.readCopy(at: copies.first)
        let second = copies.readCopy(at: copies.second)
        let validCatalog = try CatalogCopies.choose(
            first: first, second: second, hasLogs: !directories.isEmpty, of: copies)
        guard let validCatalog else { return try createCatalog() }
        warnAboutCopies(first: first, second: second, chosen: validCatalog)
        let inventory = StoreInventory(catalog: validCatalog, found: directories)
        try refuseMismatch(in: inventory)
        try removeDirectories(in: inventory)
        catalog = validCatalog
        catalog.forgetRemoved()
        guard first != .sound(catalog) || second != .sound(catalog) else { return }
        try save(catalog)
    }

    /// Starts an empty data directory.
    private func createCatalog() throws(TopicStoreError) {
        var generator = SystemRandomNumberGenerator()
        catalog = TopicCatalog(clusterID: ClusterID.random(using: &generator))
        try save(catalog)
    }

    private func findDirectories() throws(TopicStoreError) -> [LogDirectory] {
        do throws(DiskError) {
            return try environment.disk.names(in: logsPath).compactMap { LogDirectory(name: $0) }
        } catch {
            throw .disk(error)
        }
    }

    /// Logs each copy that differs from the valid catalog.
    private func warnAboutCopies(
        first: CatalogCopies.CopyState, second: CatalogCopies.CopyState, chosen: TopicCatalog
    ) {
        for (copy, path) in [(first, copies.first), (second, copies.second)] where copy != .sound(chosen) {
            environment.log.warning(
                "a copy of the catalog is missing, damaged or old and is written again from the other copy",
                .field("path", path))
        }
    }

    /// Throws if a directory is missing, or if one with records is not in the catalog. Called before any
    /// directory is removed.
    private func refuseMismatch(in inventory: StoreInventory) throws(TopicStoreError) {
        guard inventory.missing.isEmpty else {
            throw .missingLogs(inventory.missing.map { logPath(of: $0) })
        }
        var unknownPaths: [String] = []
        do throws(DiskError) {
            for directory in inventory.unnamed {
                let directoryPath = logPath(of: directory)
                if try !environment.disk.names(in: directoryPath).isEmpty {
                    unknownPaths.append(directoryPath)
                }
            }
        } catch {
            throw .disk(error)
        }
        guard unknownPaths.isEmpty else { throw .unknownLogs(unknownPaths) }
    }

    /// Removes the directories of deleted topics, and empty ones.
    private func removeDirectories(in inventory: StoreInventory) throws(TopicStoreError) {
        guard !inventory.removable.isEmpty || !inventory.unnamed.isEmpty else { return }
        let disk = environment.disk
        do throws(DiskError) {
            for directory in inventory.removable {
                try disk.removeDirectory(at: logPath(of: directory))
            }
            // A creation that a crash interrupted leaves empty directories behind.
            for directory in inventory.unnamed {
                _ = try disk.removeEmptyDirectory(at: logPath(of: directory))
            }
            // The caller forgets the removed topics. After that, a power failure must not bring their
            // directories back.
            try disk.syncDirectory(at: logsPath)
        } catch {
            throw .disk(error)
        }
    }

    /// Makes a change of the catalog durable. If this throws, the change did not happen: the old catalog
    /// is written again, because the failed save may have left the new one in the file.
    func save(_ changed: TopicCatalog) throws(TopicStoreError) {
        var newCatalog = changed
        newCatalog.revision = catalog.revision + 1
        do throws(DiskError) {
            try copies.saveFirst(newCatalog)
        } catch {
            // The failed save may have left revision + 1 in the file. The old catalog must count as the newer one.
            catalog.revision += 2
            hasUnsavedCatalog = true
            saveUnsavedCatalog()
            throw .disk(error)
        }
        catalog = newCatalog
        hasUnsavedCatalog = true
        do throws(DiskError) {
            try copies.saveSecond(catalog)
            hasUnsavedCatalog = false
        } catch {
            environment.counters.diskFailures.add()
            environment.log.warning(
                "the second copy of the catalog cannot be written and is tried again",
                .field("error", error.description))
        }
    }

    /// Writes the catalog again if an earlier save failed.
    func saveUnsavedCatalog() {
        guard hasUnsavedCatalog else { return }
        do throws(DiskError) {
            try copies.saveFirst(catalog)
            try copies.saveSecond(catalog)
            hasUnsavedCatalog = false
        } catch {
            environment.counters.diskFailures.add()
        }
    }
}
