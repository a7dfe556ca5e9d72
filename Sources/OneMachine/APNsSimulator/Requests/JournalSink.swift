/// The receiver of the journal's entries. For an answered request, `willAnswer` comes first. Then, as for every
/// request, `didEnd` comes once. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    /// Called before the answer of a request is sent, so that a record of it exists even if the process is
    /// killed.
    func willAnswer(_ entry: inout JournalEntry)

    /// Called when the outcome of a request is final: its answer was sent or lost, or it gets none.
    func didEnd(_ entry: consuming JournalEntry)
}

extension JournalSink {
    func willAnswer(_ entry: inout JournalEntry) {}
}
