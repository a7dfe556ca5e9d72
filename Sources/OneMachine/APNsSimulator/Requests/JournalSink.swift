/// The receiver of the journal's entries: each request once, when its outcome is known. Confined to the
/// simulator's event loop.
protocol JournalSink: AnyObject {
    /// Called before a request is answered, so that its record is written before the answer is sent.
    func willAnswer(_ entry: inout JournalEntry)

    /// Called when the outcome of a request is known.
    func didEnd(_ entry: consuming JournalEntry)
}

extension JournalSink {
    func willAnswer(_ entry: inout JournalEntry) {}
}
