internal import CLinux
internal import Glibc
internal import Lifecycle

/// The inspection of a state directory before anything is mapped or written.
enum StateFileInspection {
    enum InspectionResult: Equatable {
        /// There is no data, or none that was committed.
        case nothing
        /// The data can be used. The number counts the consecutive processes that died before a commit.
        case sound(crashesBeforeCommit: Int)
        case unsound(DiscardReason)
    }

    /// The number of consecutive processes that may die before their first commit. More of them suggest that
    /// the data kills the process.
    private static let crashesBeforeCommitMax = 1

    static func inspect(
        directory: String, conditions: ReuseConditions, boot: BootID
    ) throws(StoreError) -> InspectionResult {
        let path = StateFilePath.data(in: directory)
        let size = FileSize.ofFile(at: path)
        guard let bytes = try SmallFile.read(at: StateFilePath.mark(in: directory)) else {
            return size == nil ? .nothing : .unsound(.unmarked)
        }
        guard let mark = StateFileMark(parsing: bytes) else { return .unsound(.unreadableMark) }
        if let reason = discardReason(for: mark, conditions: conditions, boot: boot) {
            return .unsound(reason)
        }
        let diedBeforeCommit = mark.condition == .open && !mark.hasCommitted
        let crashesBeforeCommit = diedBeforeCommit ? mark.crashesBeforeCommit + 1 : 0
        guard crashesBeforeCommit <= crashesBeforeCommitMax else {
            return .unsound(.crashedTwiceBeforeCommit)
        }
        guard let size else {
            // The process died between its open mark and its first write.
            return diedBeforeCommit ? .nothing : .unsound(.missingData)
        }
        var lastTransaction: Int?
        if case .clean(let markedSize, let transaction) = mark.condition {
            guard size == markedSize else {
                return .unsound(.damaged("the file has \(size) bytes instead of \(markedSize)"))
            }
            lastTransaction = transaction
        }
        if let damage = try TreeCheck.damage(in: path, lastTransaction: lastTransaction) {
            return .unsound(.damaged(damage))
        }
        return .sound(crashesBeforeCommit: crashesBeforeCommit)
    }

    /// Returns the reason for which the mark alone excludes the data, or nil.
    private static func discardReason(
        for mark: StateFileMark, conditions: ReuseConditions, boot: BootID
    ) -> DiscardReason? {
        if case .unusable(let reason) = mark.condition { return .markedUnusable(reason) }
        if mark.schema != conditions.schema {
            return .otherSchema(found: mark.schema, wanted: conditions.schema)
        }
        if mark.origin != conditions.origin {
            return .otherOrigin(found: mark.origin, wanted: conditions.origin)
        }
        if mark.condition == .open, mark.boot != boot { return .machineWentDown }
        return nil
    }
}

/// The size of a file, without opening it.
enum FileSize {
    /// Returns nil if the file does not exist.
    static func ofFile(at path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_size : nil
    }
}
