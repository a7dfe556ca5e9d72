internal import HTTP2

/// Journal entries of answers that have not left yet, by the place of their stream.
struct LeavingAnswers {
    /// What waits at each place; two lists, because an entry is large and its stream small.
    private var streams: [ServerStream?] = []
    private var entries: [JournalEntry?] = []
    private(set) var count = 0

    /// Returns the entry of a stream that had this place before and ended without anybody's noticing.
    mutating func add(_ entry: JournalEntry, of stream: ServerStream) -> JournalEntry? {
        while entries.count <= stream.place {
            streams.append(nil)
            entries.append(nil)
        }
        let before = streams[stream.place] == nil ? nil : take(at: stream.place)
        count += 1
        streams[stream.place] = stream
        entries[stream.place] = entry
        return before
    }

    mutating func take(_ stream: ServerStream) -> JournalEntry? {
        guard stream.place < streams.count, streams[stream.place] == stream else { return nil }
        return take(at: stream.place)
    }

    /// Takes those whose streams are no longer open.
    mutating func takeClosed(_ isOpen: (ServerStream) -> Bool) -> [JournalEntry] {
        guard count > 0 else { return [] }
        var closed: [JournalEntry] = []
        for (place, stream) in streams.enumerated() {
            guard let stream, !isOpen(stream), let entry = take(at: place) else { continue }
            closed.append(entry)
        }
        return closed
    }

    private mutating func take(at place: Int) -> JournalEntry? {
        streams[place] = nil
        count -= 1
        return entries[place].take()
    }
}
