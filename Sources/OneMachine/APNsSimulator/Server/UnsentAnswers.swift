internal import HTTP2

/// Journal entries of answers that are not completely sent. They are stored by slot, the small index that the
/// session gives each open stream, and uses again when the stream is closed.
struct UnsentAnswers {
    /// The streams and the entries by slot. They are two arrays, because an entry is large and a stream is
    /// small, and `takeClosed` looks at all streams.
    private var streams: [ServerStreamID?] = []
    private var entries: [JournalEntry?] = []
    private(set) var count = 0

    /// Adds an entry. Returns the entry of an earlier stream in this slot, which closed before its answer was
    /// sent.
    mutating func add(_ entry: consuming JournalEntry, for stream: ServerStreamID) -> JournalEntry? {
        while entries.count <= stream.slotIndex {
            streams.append(nil)
            entries.append(nil)
        }
        let displaced = streams[stream.slotIndex] == nil ? nil : take(at: stream.slotIndex)
        count += 1
        streams[stream.slotIndex] = stream
        entries[stream.slotIndex] = entry
        return displaced
    }

    /// Removes and returns the entry of a stream. Returns nil if it has none.
    mutating func take(for stream: ServerStreamID) -> JournalEntry? {
        guard stream.slotIndex < streams.count, streams[stream.slotIndex] == stream else { return nil }
        return take(at: stream.slotIndex)
    }

    /// Removes and returns the entries whose streams are no longer open.
    mutating func takeClosed(isOpen: (ServerStreamID) -> Bool) -> [JournalEntry] {
        guard count > 0 else { return [] }
        var closed: [JournalEntry] = []
        for (slot, stream) in streams.enumerated() {
            guard let stream, !isOpen(stream), let entry = take(at: slot) else { continue }
            closed.append(entry)
        }
        return closed
    }

    private mutating func take(at slot: Int) -> JournalEntry? {
        streams[slot] = nil
        count -= 1
        return entries[slot].take()
    }
}
