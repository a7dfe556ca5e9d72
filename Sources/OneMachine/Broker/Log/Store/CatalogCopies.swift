internal import Glibc

/// The two files of the catalog: `catalog` in the data directory, and `logs/catalog` as a second copy. The
/// first is always written before the second, so the second is older by at most one change.
struct CatalogCopies {
    static let fileName = "catalog"

    /// The state of one of the files.
    enum CopyState: Equatable {
        case missing
        case damaged
        case unreadable(DiskError)
        case sound(TopicCatalog)
    }

    /// The path of the first copy.
    let first: String
    /// The path of the second copy.
    let second: String
    private let disk: Disk

    init(in path: String, disk: Disk) {
        first = path + "/" + Self.fileName
        second = path + "/logs/" + Self.fileName
        self.disk = disk
    }

    func readCopy(at path: String) -> CopyState {
        do throws(DiskError) {
            guard let bytes = try disk.contents(of: path) else { return .missing }
            return TopicCatalog(decoding: bytes).map { .sound($0) } ?? .damaged
        } catch {
            return .unreadable(error)
        }
    }

    /// Returns the valid catalog, or nil for a new data directory, which has no catalog and no logs.
    ///
    /// A file that cannot be read is not a missing file. It may be readable later, and be newer than the
    /// second copy. So the broker does not start until a person has looked at it.
    static func choose(
        first: CopyState, second: CopyState, hasLogs: Bool, of copies: CatalogCopies
    ) throws(TopicStoreError) -> TopicCatalog? {
        switch (first, second) {
        case (.unreadable(let error), _):
            throw .unreadableCatalog(error, second: copies.second)
        case (.sound(let first), .sound(let second)):
            guard first.clusterID == second.clusterID else {
                throw .mixedCatalogs(copies.first, copies.second)
            }
            return second.revision > first.revision ? second : first
        case (.sound(let catalog), _), (_, .sound(let catalog)): return catalog
        case (_, .unreadable(let error)): throw .unreadableCatalog(error, second: copies.second)
        case (.missing, .missing):
            guard !hasLogs else { throw .missingCatalog(path: copies.first) }
            return nil
        case (.damaged, _): throw .damagedCatalog(path: copies.first)
        case (.missing, .damaged): throw .damagedCatalog(path: copies.second)
        }
    }

    func saveFirst(_ catalog: TopicCatalog) throws(DiskError) {
        try disk.replace(first, with: catalog.encoded())
    }

    func saveSecond(_ catalog: TopicCatalog) throws(DiskError) {
        try disk.replace(second, with: catalog.encoded())
    }
}
