internal import Store

/// The merge of sorted runs. Changes come out in key order. If several runs have a key, only the change of
/// the newest run comes out. It is a loser tree: each node stores the loser of its comparison, so the next
/// change costs one comparison per level.
@safe struct RunMerge: ~Copyable {
    private let runs: UnsafeMutablePointer<RunReader>
    private let runsMax: Int
    private var added = 0
    /// The loser at each node. Index 0 holds the overall winner.
    private var losers: [Int] = []
    private var last: [UInt8] = []

    init(runsMax: Int) {
        self.runsMax = runsMax
        unsafe runs = .allocate(capacity: runsMax)
    }

    deinit {
        for index in 0..<added { unsafe (runs + index).deinitialize(count: 1) }
        unsafe runs.deallocate()
    }

    /// Adds a run. A newer run must be added later.
    mutating func add(_ run: consuming RunReader) {
        precondition(added < runsMax, "more runs than runsMax")
        unsafe (runs + added).initialize(to: run)
        added += 1
    }

    mutating func drain(
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard added > 0 else { return }
        losers = Array(repeating: 0, count: added)
        losers[0] = winner(below: 1)
        var lastHead: UInt64?
        while true {
            let top = losers[0]
            if unsafe runs[top].isAtEnd { return }
            let head = unsafe runs[top].keyPrefix
            if unsafe head != lastHead || !Self.hasKey(runs[top], equalTo: last.span) {
                unsafe try Self.emit(runs[top], last: &last, body: body)
                lastHead = head
            }
            unsafe try runs[top].advance()
            updateLosers(from: top)
        }
    }

    private static func hasKey(_ run: borrowing RunReader, equalTo key: Span<UInt8>) -> Bool {
        run.key.equals(key)
    }

    private static func emit(
        _ run: borrowing RunReader, last: inout [UInt8],
        body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        try body(run.key, run.value)
        last.removeAll(keepingCapacity: true)
        last.append(run.key)
    }

    private static func compare(_ a: borrowing RunReader, with b: borrowing RunReader) -> Int {
        a.key.order(to: b.key)
    }

    /// Fills the tree below a node and returns the winner there. The runs are the leaves.
    private mutating func winner(below node: Int) -> Int {
        if node >= added { return node - added }
        let (a, b) = (winner(below: 2 * node), winner(below: 2 * node + 1))
        let isFirst = comes(a, before: b)
        losers[node] = isFirst ? b : a
        return isFirst ? a : b
    }

    /// Compares the run with the losers on its path to the root, after it advanced.
    private mutating func updateLosers(from run: Int) {
        var winner = run
        var node = (run + added) / 2
        while node > 0 {
            let other = losers[node]
            if comes(other, before: winner) {
                losers[node] = winner
                winner = other
            }
            node /= 2
        }
        losers[0] = winner
    }

    private func comes(_ a: Int, before b: Int) -> Bool {
        let (ends, heads) = unsafe (
            (runs[a].isAtEnd, runs[b].isAtEnd), (runs[a].keyPrefix, runs[b].keyPrefix)
        )
        if ends.0 || ends.1 { return !ends.0 }
        if heads.0 != heads.1 { return heads.0 < heads.1 }
        let order = unsafe Self.compare(runs[a], with: runs[b])
        return order == 0 ? a > b : order < 0
    }
}
