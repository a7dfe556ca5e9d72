internal import CLinux
internal import Glibc
internal import Lifecycle

/// The inspection of a state directory before anything is mapped or written.
enum StateFileInspection {
    enum InspectionResult: Equatable {
        case nothing
        /// `deaths` is the number of consecutive processes that died before a commit.
        case sound(deaths: Int)
        case unsound(DiscardReason)
    }

    static func inspect(directory: String, conditions terms: ReuseConditions, boot: BootID) throws(StoreError)
        -> InspectionResult
    {
        let path = directory + "/data.mdb"
        let data = FileSize.ofFile(at: path)
        guard let bytes = try SmallFile.read(at: directory + "/mark") else {
            return data == nil ? .nothing : .unsound(.unmarked)
        }
        guard let mark = StateFileMark(parsing: bytes) else { return .unsound(.unreadableMark) }
        if let reason = discardReason(for: mark, conditions: terms, boot: boot) { return .unsound(reason) }
        let deaths = mark.condition == .open && !mark.hasCommitted ? mark.crashesBeforeCommit + 1 : 0
        guard deaths < 2 else { return .unsound(.crashedTwiceBeforeCommit) }
        guard let data else {
            // The process died between its open mark and its first write.
            return mark.condition == .open && !mark.hasCommitted ? .nothing : .unsound(.missingData)
        }
        var last: Int?
        if case .clean(let size, let transaction) = mark.condition {
            guard size == data else {
                return .unsound(.damaged("the file has \(data) bytes instead of \(size)"))
            }
            last = transaction
        }
        if let damage = try TreeCheck.damage(in: path, lastTransaction: last) {
            return .unsound(.damaged(damage))
        }
        return .sound(deaths: deaths)
    }

    private static func discardReason(
        for mark: StateFileMark, conditions terms: ReuseConditions, boot: BootID
    ) -> DiscardReason? {
        if case .unusable(let why) = mark.condition { return .markedUnusable(why) }
        if mark.schema != terms.schema { return .otherSchema(found: mark.schema, wanted: terms.schema) }
        if mark.origin != terms.origin { return .otherOrigin(found: mark.origin, wanted: terms.origin) }
        if mark.condition == .open, mark.boot != boot { return .machineWentDown }
        return nil
    }
}

enum FileSize {
    /// Returns nil if the file does not exist.
    static func ofFile(at path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_size : nil
    }
}
