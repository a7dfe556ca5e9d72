internal import HTTP2

/// Journal entries of answers that are not fully sent, by the slot of their stream.
struct LeavingAnswers {
    /// The streams and entries by slot. They are two arrays, because an entry is large and its stream is
    /// small.
    private var streams: [ServerStream?] = []
    private var entries: [JournalEntry?] = []
    private(set) var count = 0

    /// Adds an entry. Returns the entry of an earlier stream of this slot whose end was not noticed.
    mutating func add(_ entry: consuming JournalEntry, of stream: ServerStream) -> JournalEntry? {
        while entries.count <= stream.slot {
            streams.append(nil)
            entries.append(nil)
        }
        let before = streams[stream.slot] == nil ? nil : take(at: stream.slot)
        count += 1
        streams[stream.slot] = stream
        entries[stream.slot] = entry
        return before
    }

    mutating func take(_ stream: ServerStream) -> JournalEntry? {
        guard stream.slot < streams.count, streams[stream.slot] == stream else { return nil }
        return take(at: stream.slot)
    }

    /// Removes and returns the entries whose streams are no longer open.
    mutating func takeClosed(_ isOpen: (ServerStream) -> Bool) -> [JournalEntry] {
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
