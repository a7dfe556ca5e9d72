/// A wrong event that a test gives to the pool, to show that the simulation finds it. The faults in
/// `Tests/Mutants/apns` make the pool itself wrong.
enum PoolMutant: CaseIterable {
    /// Treats every stream of a connection with GOAWAY as unprocessed, regardless of its last stream.
    case ignoresLastStream
    /// Treats the requests of a broken connection as unprocessed.
    case lostIsUnprocessed
    /// Drops a lower SETTINGS_MAX_CONCURRENT_STREAMS.
    case ignoresSmallerSettings
    /// Drops GOAWAY.
    case ignoresGoaway
    /// Opens connections without asking the budget.
    case ignoresBudget
    /// Drops the outcome of a reset.
    case losesResets
    /// Drops the event that the stream of an overdue request has closed.
    case losesFreed
    /// Ends requests twice.
    case endsTwice
}
