/// Makes a data directory fit to start again, while no broker runs on it. It removes no record: what
/// is in the way moves to `set-aside`.
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

    /// Finds what keeps the broker from starting.
    package func plan() throws(TopicStoreError) -> RepairPlan {
        let found: [LogDirectory]
        do throws(DiskError) {
            found = try disk.names(in: path + "/logs").compactMap { LogDirectory(name: $0) }
        } catch {
            throw .disk(error)
        }
        do throws(TopicStoreError) {
            let catalog = try CatalogCopies.choose(
                first: copies.readCopy(at: copies.first), second: copies.readCopy(at: copies.second),
                hasLogs: !found.isEmpty, of: copies)
            if let catalog { return RepairPlan(catalog: catalog, found: found) }
        } catch {
            switch error {
            case .damagedCatalog, .missingCatalog: break
            default: throw error
            }
        }
        var generator = SystemRandomNumberGenerator()
        return RepairPlan(
            rebuilding: ClusterID.random(using: &generator), found: found, using: &generator)
    }

    /// Finds the damaged batches of all logs without a change to any file. Bytes behind the last sound
    /// batch of a log are no damage: a start cuts them.
    package func damage() throws(TopicStoreError) -> [DamagedRange] {
        var found: [DamagedRange] = []
        do throws(DiskError) {
            for name in try disk.names(in: path + "/logs") where LogDirectory(name: name) != nil {
                found += try damage(in: path + "/logs/" + name)
            }
        } catch {
            throw .disk(error)
        }
        return found
    }

    private func damage(in directory: String) throws(DiskError) -> [DamagedRange] {
        let bases = try disk.names(in: directory).filter { $0.hasSuffix(".log") }
            .compactMap { Int64($0.dropLast(4)) }.sorted()
        var found: [DamagedRange] = []
        for (index, base) in bases.enumerated() {
            let file = try disk.open(
                path: Segment.path(in: directory, from: base, suffix: "log"), writable: false)
            let reader = SegmentReader(
                disk: disk, file: file, position: 0, offset: base, end: try disk.size(of: file))
            do throws(LogError) {
                found += try reader.damage(until: index + 1 < bases.count ? bases[index + 1] : nil)
            } catch {
                if case .disk(let error) = error { throw error }
            }
        }
        return found
    }

    /// Carries a plan out. After a crash at any step, a new plan finds the steps that are left. The
    /// catalog comes last, when all directories that it names exist.
    package func apply(_ plan: RepairPlan) throws(TopicStoreError) {
        do throws(DiskError) {
            if !plan.setAside.isEmpty {
                let aside = path + "/" + Self.setAsideName
                try disk.makeDirectory(at: aside)
                for directory in plan.setAside {
                    try disk.rename(path + "/logs/" + directory.name, to: aside + "/" + directory.name)
                }
                try disk.syncDirectory(at: aside)
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
