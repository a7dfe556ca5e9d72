internal import Glibc
package import Telemetry

/// One environment as a cache of topics: it can always be built again, so it is written without sync,
/// and the question at opening is only whether what is there may be believed. The mark beside the
/// data answers it. The order of writes is the whole proof:
///
///     open mark, synced → changes → … → data synced → clean mark, synced
///
/// A process that dies leaves an open mark and whole data, because the kernel has them. A machine that
/// goes down leaves an open mark of another boot, and then the data are worth nothing. It must never
/// serve rows of which it does not know that they are what was committed.
///
/// Its owner's thread writes through it; any thread may read through `environment`. LMDB has no checksums:
/// what was changed while nobody had the file is found at the opening (`TreeCheck`, `TableSums`), and a row
/// that the disk changes later when it is met (`RowCheck`). What it cannot see: a page between the rows that
/// changes while the file is open, before the next opening; and a file that somebody cuts meanwhile ends
/// the process with SIGBUS, and the next start finds the cut.
package final class StateFile {
    package let beginning: Beginning
    package let environment: Environment
    private let directory: String
    private var lock: DirectoryLock?
    private var mark: Mark
    /// False while the disk has not taken the news that this process has committed.
    private var isMarkCurrent = true

    package init(
        _ directory: String, _ terms: Terms, tables: [String], limits: Limits = Limits(), now: WallTime,
        boot: BootID
    ) throws(StoreError) {
        lock = try DirectoryLock(directory)
        self.directory = directory
        var mark = Mark(condition: .open, schema: terms.schema, origin: terms.origin, boot: boot)
        var beginning = Beginning.empty
        switch try StateFileInspection.run(directory, terms, boot: boot) {
        case .nothing: break
        case .sound(let deaths):
            beginning = .resumed
            mark.deaths = deaths
        case .unsound(let reason): beginning = try Self.discard(directory, because: reason, mark: &mark)
        }
        try SmallFile.replace(directory + "/mark", with: mark.bytes, synced: true)
        let found =
            beginning == .resumed
            ? try Self.unusable(directory, by: terms, tables: tables, limits: limits, now: now) : nil
        if let found { beginning = try Self.discard(directory, because: found, mark: &mark) }
        environment = try Environment(directory: directory, tables: tables, limits: limits)
        self.mark = mark
        self.beginning = beginning
    }

    package func table(_ name: String) -> Table { environment.table(name) }

    package func read<R>(_ body: (borrowing Picture) throws(StoreError) -> R) throws(StoreError) -> R {
        try environment.read(body)
    }

    /// `Environment.write`, remembering that this process got as far as a commit.
    package func write<R>(_ body: (inout WriteTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
        let outcome = try environment.write(body)
        if !mark.hasCommitted || !isMarkCurrent { noteCommit() }
        return outcome
    }

    /// Everything on disk first, then the mark that says so, then the directory is free. Without it, the next opening still finds
    /// whole data, as long as the machine stays up.
    package func close() throws(StoreError) {
        try environment.sync()
        try environment.close()
        let path = directory + "/data.mdb"
        guard let size = FileSize.of(path) else { throw systemError("read", path) }
        mark.condition = .clean(bytes: size, transaction: try TreeCheck.lastTransaction(in: path))
        mark.deaths = 0
        try SmallFile.replace(directory + "/mark", with: mark.bytes, synced: true)
        lock = nil
    }

    /// Closes the file for good: the next opening discards it and gives this reason.
    package func condemn(_ reason: String) throws(StoreError) {
        mark.condition = .condemned(reason: reason)
        try SmallFile.replace(directory + "/mark", with: mark.bytes, synced: true)
        try environment.close()
        lock = nil
    }

    /// Not synced: it matters only when the process dies and the machine does not.
    private func noteCommit() {
        mark.hasCommitted = true
        mark.deaths = 0
        isMarkCurrent = (try? SmallFile.replace(directory + "/mark", with: mark.bytes, synced: false)) != nil
    }

    private static func discard(
        _ directory: String, because reason: DiscardReason, mark: inout Mark
    ) throws(StoreError) -> Beginning {
        for name in ["data.mdb", "data.mdb-lock"] { try SmallFile.remove(directory + "/" + name) }
        mark.deaths = 0
        return .discarded(reason)
    }

    /// What only the tables themselves can tell.
    private static func unusable(
        _ directory: String, by terms: Terms, tables: [String], limits: Limits, now: WallTime
    ) throws(StoreError) -> DiscardReason? {
        do throws(StoreError) {
            let environment = try Environment(directory: directory, tables: tables, limits: limits)
            let oldest = try environment.read { picture throws(StoreError) in try picture.oldestAsOf() }
            try environment.close()
            guard let oldest else { return nil }
            let age = now.milliseconds - oldest.milliseconds
            guard age > terms.ageMaxMilliseconds else { return nil }
            return .tooOld(ageMilliseconds: age, limitMilliseconds: terms.ageMaxMilliseconds)
        } catch .corrupt(_, let what) {
            return .damaged(what)
        }
    }
}
