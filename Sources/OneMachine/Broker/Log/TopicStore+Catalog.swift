internal import Telemetry

extension TopicStore {
    /// Reads the catalog and compares it with the directories: refuses to start if they do not fit
    /// together, removes what the catalog lists as removed, and writes both copies if one is not right.
    func openCatalog() throws(TopicStoreError) {
        let found = try findDirectories()
        let (first, second) = (copies.readCopy(at: copies.first), copies.readCopy(at: copies.second))
        let chosen = try CatalogCopies.choose(
            first: first, second: second, hasLogs: !found.isEmpty, of: copies)
        guard let chosen else { return try createCatalog() }
        warnAboutCopies(first: first, second: second, chosen: chosen)
        let inventory = StoreInventory(catalog: chosen, found: found)
        try refuseMismatch(in: inventory)
        try removeDirectories(in: inventory)
        catalog = chosen
        catalog.forgetRemoved()
        guard first != .sound(catalog) || second != .sound(catalog) else { return }
        try save(catalog)
    }

    /// Starts a data directory that holds nothing.
    private func createCatalog() throws(TopicStoreError) {
        var generator = SystemRandomNumberGenerator()
        catalog = TopicCatalog(clusterID: ClusterID.random(using: &generator))
        try save(catalog)
    }

    private func findDirectories() throws(TopicStoreError) -> [LogDirectory] {
        do throws(DiskError) {
            return try environment.disk.names(in: path + "/logs").compactMap { LogDirectory(name: $0) }
        } catch {
            throw .disk(error)
        }
    }

    private func warnAboutCopies(
        first: CatalogCopies.CopyState, second: CatalogCopies.CopyState, chosen: TopicCatalog
    ) {
        for (copy, path) in [(first, copies.first), (second, copies.second)] where copy != .sound(chosen) {
            environment.log.warning(
                "a copy of the catalog is missing, damaged or old and is written again from the other copy",
                .field("path", path))
        }
    }

    /// Comes before anything is removed.
    private func refuseMismatch(in inventory: StoreInventory) throws(TopicStoreError) {
        guard inventory.missing.isEmpty else {
            throw .missingLogs(inventory.missing.map { path + "/logs/" + $0.name })
        }
        var unknown: [String] = []
        do throws(DiskError) {
            for directory in inventory.unnamed {
                let path = path + "/logs/" + directory.name
                if try !environment.disk.names(in: path).isEmpty { unknown.append(path) }
            }
        } catch {
            throw .disk(error)
        }
        guard unknown.isEmpty else { throw .unknownLogs(unknown) }
    }

    private func removeDirectories(in inventory: StoreInventory) throws(TopicStoreError) {
        guard !inventory.removed.isEmpty || !inventory.unnamed.isEmpty else { return }
        let disk = environment.disk
        do throws(DiskError) {
            for directory in inventory.removed {
                try disk.removeDirectory(at: path + "/logs/" + directory.name)
            }
            // A creation that a crash interrupted leaves empty directories behind.
            for directory in inventory.unnamed {
                _ = try disk.removeEmptyDirectory(at: path + "/logs/" + directory.name)
            }
            // The catalog forgets what it removed; a power failure must not bring it back after that.
            try disk.syncDirectory(at: path + "/logs")
        } catch {
            throw .disk(error)
        }
    }

    /// Makes a change of the catalog durable. If this throws, the change did not happen: the old catalog
    /// is written again, because the failed save may have left the new one in the file.
    func save(_ changed: TopicCatalog) throws(TopicStoreError) {
        var next = changed
        next.revision = catalog.revision + 1
        do throws(DiskError) {
            try copies.saveFirst(next)
        } catch {
            // Higher than the revision that may be in the file.
            catalog.revision += 2
            hasUnsavedCatalog = true
            saveUnsavedCatalog()
            throw .disk(error)
        }
        catalog = next
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

    /// Writes what an earlier save could not write.
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
