/// A way to be wrong on purpose in what the pool is told, to show that the simulation would see it. Pools
/// that are wrong themselves are kept as patches, in Tests/Mutants/apns.
enum PoolMutant: CaseIterable {
    /// Takes every stream of a connection that said GOAWAY for unprocessed, whatever its last stream is.
    case ignoresLastStream
    /// Takes the requests of a broken connection for unprocessed.
    case lostIsUnprocessed
    /// Does not hear of a smaller SETTINGS_MAX_CONCURRENT_STREAMS.
    case ignoresSmallerSettings
    /// Does not hear of GOAWAY.
    case ignoresGoaway
    /// Opens connections without asking the budget.
    case ignoresBudget
    /// Loses the outcome of a reset.
    case losesResets
    /// Does not hear that the stream of an overdue request has closed.
    case losesFreed
    /// Gives requests a second end.
    case endsTwice
}
