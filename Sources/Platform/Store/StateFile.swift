internal import Glibc
package import Lifecycle
package import Telemetry

/// An LMDB environment that is a cache of topics. It can always be rebuilt, so it is written without sync.
/// The only question at opening is whether its data can be trusted. The mark, a small file beside the data,
/// answers it. The proof is the order of the writes:
///
///     open mark, synced → changes → … → data synced → clean mark, synced
///
/// A process that dies leaves an open mark and intact data, because the kernel has the data. A machine that
/// goes down leaves an open mark of another boot, and the data is then worthless. The file must never serve
/// rows that may differ from the committed rows.
///
/// The owner's thread writes through it. Any thread may read through `environment`. LMDB has no checksums.
/// Changes to a closed file are detected at the opening (`TreeCheck`, `TableSums`). A row that the disk
/// changes later is detected when it is read (`RowChecksum`). Two kinds of damage are not detected at once.
/// An inner page that changes while the file is open is detected only at the next opening. If an open file is
/// truncated, SIGBUS ends the process, and the next start detects the truncation.
package final class StateFile {
    package let openingState: OpeningState
    package let environment: LMDBEnvironment
    private let directory: String
    private var lock: DirectoryLock?
    private var mark: StateFileMark
    /// False if the disk did not accept the mark of this process's first commit. The next commit writes it
    /// again.
    private var isMarkCurrent = true

    /// Opens the file. If its data cannot be trusted, deletes it and begins with empty tables.
    package init(
        directory: String, conditions: ReuseConditions, tables: [String],
        limits: EnvironmentLimits = EnvironmentLimits(), now: WallTime,
        boot: BootID
    ) throws(StoreError) {
        lock = try DirectoryLock(directory: directory)
        self.directory = directory
        var mark = StateFileMark(
            condition: .open, schema: conditions.schema, origin: conditions.origin, boot: boot)
        var openingState = OpeningState.empty
        switch try StateFileInspection.inspect(directory: directory, conditions: conditions, boot: boot) {
        case .nothing: break
        case .sound(let crashesBeforeCommit):
            openingState = .resumed
            mark.crashesBeforeCommit = crashesBeforeCommit
        case .unsound(let reason):
            openingState = try Self.discardData(in: directory, because: reason, mark: &mark)
        }
        // The open mark must be on disk before the data changes.
        try SmallFile.replace(at: StateFilePath.mark(in: directory), with: mark.bytes, synced: true)
        if openingState == .resumed,
            let reason = try Self.unusableReason(
                in: directory, conditions: conditions, tables: tables, limits: limits, now: now)
        {
            openingState = try Self.discardData(in: directory, because: reason, mark: &mark)
        }
        environment = try LMDBEnvironment(directory: directory, tables: tables, limits: limits)
        self.mark = mark
        self.openingState = openingState
    }

    package func table(named name: String) -> Table { environment.table(named: name) }

    package func read<R>(_ body: (borrowing ReadSnapshot) throws(StoreError) -> R) throws(StoreError) -> R {
        try environment.read(body)
    }

    /// Writes like `LMDBEnvironment.write` and records the first commit of this process.
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
        let path = StateFilePath.data(in: directory)
        guard let size = FileSize.ofFile(at: path) else { throw systemError(action: "read", path: path) }
        mark.condition = .clean(bytes: size, transaction: try TreeCheck.lastTransaction(in: path))
        mark.crashesBeforeCommit = 0
        try SmallFile.replace(at: StateFilePath.mark(in: directory), with: mark.bytes, synced: true)
        lock = nil
    }

    /// Closes the file. The next opening discards it and reports this reason.
    package func markUnusable(because reason: String) throws(StoreError) {
        mark.condition = .unusable(reason: reason)
        try SmallFile.replace(at: StateFilePath.mark(in: directory), with: mark.bytes, synced: true)
        try environment.close()
        lock = nil
    }

    /// Records the commit without a sync, because it matters only if the process dies and the machine does
    /// not.
    private func recordCommit() {
        mark.hasCommitted = true
        mark.crashesBeforeCommit = 0
        isMarkCurrent =
            (try? SmallFile.replace(
                at: StateFilePath.mark(in: directory), with: mark.bytes, synced: false)) != nil
    }

    private static func discardData(
        in directory: String, because reason: DiscardReason, mark: inout StateFileMark
    ) throws(StoreError) -> OpeningState {
        try SmallFile.remove(at: StateFilePath.data(in: directory))
        try SmallFile.remove(at: StateFilePath.readerTable(in: directory))
        mark.crashesBeforeCommit = 0
        return .discarded(reason)
    }

    /// Returns a reason to discard the data that only the tables can show, or nil.
    private static func unusableReason(
        in directory: String, conditions: ReuseConditions, tables: [String], limits: EnvironmentLimits,
        now: WallTime
    ) throws(StoreError) -> DiscardReason? {
        do throws(StoreError) {
            let environment = try LMDBEnvironment(directory: directory, tables: tables, limits: limits)
            let oldest = try environment.read { snapshot throws(StoreError) in
                try snapshot.oldestCompleteTime()
            }
            try environment.close()
            guard let oldest else { return nil }
            let age = now.milliseconds - oldest.milliseconds
            guard age > conditions.ageMaxMilliseconds else { return nil }
            return .tooOld(ageMilliseconds: age, limitMilliseconds: conditions.ageMaxMilliseconds)
        } catch .corrupt(_, let damage) {
            return .damaged(damage)
        }
    }
}
