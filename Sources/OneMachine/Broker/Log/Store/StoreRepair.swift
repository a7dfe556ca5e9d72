/// The repair of a data directory that a broker cannot start on. No broker may run on it. The repair
/// removes no record: directories that are in the way move to `set-aside`.
package final class StoreRepair {
    static let setAsideName = "set-aside"

    private let path: String
    private let disk: Disk
    private let lock: StoreLock
    private let copies: CatalogCopies

    package init(path: String, disk: Disk = Disk()) throws(TopicStoreError) {
        self.path = path
        self.disk = disk
        lock = try StoreLock(path: path, disk: disk)
        copies = CatalogCopies(in: path, disk: disk)
    }

    /// Returns the steps after which a broker can start.
    package func plan() throws(TopicStoreError) -> RepairPlan {
        let directories: [LogDirectory]
        do throws(DiskError) {
            directories = try disk.names(in: path + "/logs").compactMap { LogDirectory(name: $0) }
        } catch {
            throw .disk(error)
        }
        do throws(TopicStoreError) {
            let catalog = try CatalogCopies.choose(
                first: copies.readCopy(at: copies.first), second: copies.readCopy(at: copies.second),
                hasLogs: !directories.isEmpty, of: copies)
            if let catalog { return RepairPlan(catalog: catalog, found: directories) }
        } catch {
            switch error {
            case .damagedCatalog, .missingCatalog: break
            default: throw error
            }
        }
        var generator = SystemRandomNumberGenerator()
        return RepairPlan(
            rebuilding: ClusterID.random(using: &generator), found: directories, using: &generator)
    }

    /// Finds the damaged batches of all logs without a change to any file. Bytes behind the last sound
    /// batch of a log are no damage, because a start cuts them.
    package func findDamage() throws(TopicStoreError) -> [DamagedRange] {
        var ranges: [DamagedRange] = []
        do throws(DiskError) {
            for name in try disk.names(in: path + "/logs") where LogDirectory(name: name) != nil {
                ranges += try findDamage(in: path + "/logs/" + name)
            }
        } catch {
            throw .disk(error)
        }
        return ranges
    }

    private func findDamage(in directory: String) throws(DiskError) -> [DamagedRange] {
        let baseOffsets = try disk.names(in: directory).compactMap { Segment.baseOffset(ofFileNamed: $0) }
            .sorted()
        var ranges: [DamagedRange] = []
        for (index, baseOffset) in baseOffsets.enumerated() {
            let file = try disk.open(
                path: Segment.path(in: directory, from: baseOffset, suffix: "log"), writable: false)
            let reader = SegmentReader(
                disk: disk, file: file, position: 0, offset: baseOffset, end: try disk.size(of: file))
            let nextBaseOffset = index + 1 < baseOffsets.count ? baseOffsets[index + 1] : nil
            do throws(LogError) {
                ranges += try reader.findDamage(until: nextBaseOffset)
            } catch {
                // Damage is in the result, so any other error is one of the disk.
                if case .disk(let error) = error { throw error }
            }
        }
        return ranges
    }

    /// Carries a plan out. After a crash at any step, a new plan finds the steps that are left. The
    /// catalog comes last, when all directories that it names exist.
    package func apply(_ plan: RepairPlan) throws(TopicStoreError) {
        do throws(DiskError) {
            if !plan.setAside.isEmpty {
                let setAsidePath = path + "/" + Self.setAsideName
                try disk.makeDirectory(at: setAsidePath)
                for directory in plan.setAside {
                    try disk.rename(path + "/logs/" + directory.name, to: setAsidePath + "/" + directory.name)
                }
                try disk.syncDirectory(at: setAsidePath)
                try disk.syncDirectory(at: path)
            }
            for directory in plan.createdDirectories {
                try disk.makeDirectory(at: path + "/logs/" + directory.name)
            }
            try disk.syncDirectory(at: path + "/logs")
            guard let catalog = plan.catalog else { return }
            try copies.saveFirst(catalog)
            try copies.saveSecond(catalog)
        } catch {
            throw .disk(error)
        }
    }
}
