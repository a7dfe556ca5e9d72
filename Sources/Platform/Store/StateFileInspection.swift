internal import CLinux
internal import Glibc

/// The inspection of a state directory before anything is mapped or written.
enum StateFileInspection {
    enum Verdict: Equatable {
        case nothing
        /// `deaths` is the number of consecutive processes that died before a commit.
        case sound(deaths: Int)
        case unsound(DiscardReason)
    }

    static func run(_ directory: String, _ terms: Terms, boot: BootID) throws(StoreError) -> Verdict {
        let path = directory + "/data.mdb"
        let data = FileSize.of(path)
        guard let bytes = try SmallFile.read(directory + "/mark") else {
            return data == nil ? .nothing : .unsound(.unmarked)
        }
        guard let mark = Mark(bytes) else { return .unsound(.unreadableMark) }
        if let reason = judge(mark, by: terms, boot: boot) { return .unsound(reason) }
        let deaths = mark.condition == .open && !mark.hasCommitted ? mark.deaths + 1 : 0
        guard deaths < 2 else { return .unsound(.diedTwiceBeforeCommit) }
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
        if let damage = try TreeCheck.damage(in: path, of: last) { return .unsound(.damaged(damage)) }
        return .sound(deaths: deaths)
    }

    private static func judge(_ mark: Mark, by terms: Terms, boot: BootID) -> DiscardReason? {
        if case .condemned(let why) = mark.condition { return .condemned(why) }
        if mark.schema != terms.schema { return .otherSchema(found: mark.schema, wanted: terms.schema) }
        if mark.origin != terms.origin { return .otherOrigin(found: mark.origin, wanted: terms.origin) }
        if mark.condition == .open, mark.boot != boot { return .machineWentDown }
        return nil
    }
}

enum FileSize {
    /// Returns nil if the file does not exist.
    static func of(_ path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_size : nil
    }
}
