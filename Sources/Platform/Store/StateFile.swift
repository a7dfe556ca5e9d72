internal import Glibc
package import Lifecycle
package import Telemetry

/// One environment as a cache of topics. It can always be rebuilt, so it is written without sync. The only
/// question at opening is whether its data can be trusted. The mark beside the data answers it. The proof is
/// the order of the writes:
///
///     open mark, synced → changes → … → data synced → clean mark, synced
///
/// A process that dies leaves an open mark and intact data, because the kernel has the data. A machine that
/// goes down leaves an open mark of another boot, and the data is then worthless. The file must never serve
/// rows that may differ from the committed rows.
///
/// The owner's thread writes through it. Any thread may read through `environment`. LMDB has no checksums.
/// Changes to a closed file are detected at the opening (`TreeCheck`, `TableSums`). A row that the disk
/// changes later is detected when it is read (`RowChecksum`). Two kinds of damage are not detected at once. An
/// inner page that changes while the file is open is detected only at the next opening. If an open file is
/// truncated, SIGBUS ends the process, and the next start detects the truncation.
package final class StateFile {
    package let openingState: OpeningState
    package let environment: LMDBEnvironment
    private let directory: String
    private var lock: DirectoryLock?
    private var mark: StateFileMark
    /// False if the disk did not accept the mark of this process's first commit.
    private var isMarkCurrent = true

    package init(
        directory: String, conditions terms: ReuseConditions, tables: [String],
        limits: EnvironmentLimits = EnvironmentLimits(), now: WallTime,
        boot: BootID
    ) throws(StoreError) {
        lock = try DirectoryLock(directory: directory)
        self.directory = directory
        var mark = StateFileMark(condition: .open, schema: terms.schema, origin: terms.origin, boot: boot)
        var beginning = OpeningState.empty
        switch try StateFileInspection.inspect(directory: directory, conditions: terms, boot: boot) {
        case .nothing: break
        case .sound(let deaths):
            beginning = .resumed
            mark.crashesBeforeCommit = deaths
        case .unsound(let reason):
            beginning = try Self.discardData(in: directory, because: reason, mark: &mark)
        }
        try SmallFile.replace(at: directory + "/mark", with: mark.bytes, synced: true)
        let found =
            beginning == .resumed
            ? try Self.unusableReason(
                in: directory, conditions: terms, tables: tables, limits: limits, now: now) : nil
        if let found { beginning = try Self.discardData(in: directory, because: found, mark: &mark) }
        environment = try LMDBEnvironment(directory: directory, tables: tables, limits: limits)
        self.mark = mark
        self.openingState = beginning
    }

    package func table(named name: String) -> Table { environment.table(named: name) }

    package func read<R>(_ body: (borrowing ReadSnapshot) throws(StoreError) -> R) throws(StoreError) -> R {
        try environment.read(body)
    }

    /// Writes like `Environment.write` and records the first commit of this process.
    package func write<R>(_ body: (inout WriteTransaction) throws(StoreError) -> R) throws(StoreError) -> R {
        let outcome = try environment.write(body)
        if !mark.hasCommitted || !isMarkCurrent { recordCommit() }
        return outcome
    }

    /// Syncs the data, then writes the clean mark, then releases the directory. Without `close`, the next
    /// opening still finds intact data if the machine stayed up.
    package func close() throws(StoreError) {
        try environment.sync()
        try environment.close()
        let path = directory + "/data.mdb"
        guard let size = FileSize.ofFile(at: path) else { throw systemError(action: "read", path: path) }
        mark.condition = .clean(bytes: size, transaction: try TreeCheck.lastTransaction(in: path))
        mark.crashesBeforeCommit = 0
        try SmallFile.replace(at: directory + "/mark", with: mark.bytes, synced: true)
        lock = nil
    }

    /// Closes the file. The next opening discards it and reports this reason.
    package func markUnusable(because reason: String) throws(StoreError) {
        mark.condition = .unusable(reason: reason)
        try SmallFile.replace(at: directory + "/mark", with: mark.bytes, synced: true)
        try environment.close()
        lock = nil
    }

    /// Records the commit without a sync, because it matters only if the process dies and the machine does
    /// not.
    private func recordCommit() {
        mark.hasCommitted = true
        mark.crashesBeforeCommit = 0
        isMarkCurrent =
            (try? SmallFile.replace(at: directory + "/mark", with: mark.bytes, synced: false)) != nil
    }

    private static func discardData(
        in directory: String, because reason: DiscardReason, mark: inout StateFileMark
    ) throws(StoreError) -> OpeningState {
        for name in ["data.mdb", "data.mdb-lock"] { try SmallFile.remove(at: directory + "/" + name) }
        mark.crashesBeforeCommit = 0
        return .discarded(reason)
    }

    /// Returns a reason that only the tables can show.
    private static func unusableReason(
        in directory: String, conditions terms: ReuseConditions, tables: [String], limits: EnvironmentLimits,
        now: WallTime
    ) throws(StoreError) -> DiscardReason? {
        do throws(StoreError) {
            let environment = try LMDBEnvironment(directory: directory, tables: tables, limits: limits)
            let oldest = try environment.read { picture throws(StoreError) in try picture.oldestCompleteTime()
            }
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
