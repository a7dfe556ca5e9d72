/// A merge of sorted runs. Changes come out in key order. If several runs have a key, only the change of the
/// newest run comes out.
///
/// It is a loser tree: a binary tree whose leaves are the runs. Two runs are compared by their next changes,
/// and the run whose change comes first wins. Each node stores the loser of its comparison, so the next change
/// costs one comparison per level. The children of node `n` are `2n` and `2n + 1`. Numbers from `runCount` on
/// are leaves: leaf `runCount + i` is run `i`.
@safe struct RunMerge: ~Copyable {
    private let runs: UnsafeMutablePointer<RunReader>
    private let runsMax: Int
    private var runCount = 0
    /// The losing run at each node. Index 0 holds the overall winner.
    private var losers: [Int] = []
    /// The key of the last change that came out.
    private var lastKey: [UInt8] = []

    init(runsMax: Int) {
        self.runsMax = runsMax
        unsafe runs = .allocate(capacity: runsMax)
    }

    deinit {
        for index in 0..<runCount { unsafe (runs + index).deinitialize(count: 1) }
        unsafe runs.deallocate()
    }

    /// Adds a run. A newer run must be added later.
    mutating func add(_ run: consuming RunReader) {
        precondition(runCount < runsMax, "more runs than runsMax")
        unsafe (runs + runCount).initialize(to: run)
        runCount += 1
    }

    /// Passes the newest change of each key to `body`, in key order.
    mutating func drain(
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard runCount > 0 else { return }
        losers = Array(repeating: 0, count: runCount)
        losers[0] = winner(below: 1)
        var lastPrefix: UInt64?
        while true {
            let first = losers[0]
            if unsafe runs[first].isAtEnd { return }
            let prefix = unsafe runs[first].keyPrefix
            // The newest change of a key comes first. The older ones are dropped.
            let isNewKey = unsafe prefix != lastPrefix || !Self.hasKey(runs[first], equalTo: lastKey.span)
            if isNewKey {
                unsafe try Self.passChange(of: runs[first], to: body, lastKey: &lastKey)
                lastPrefix = prefix
            }
            unsafe try runs[first].advance()
            updateLosers(from: first)
        }
    }

    private static func hasKey(_ run: borrowing RunReader, equalTo key: Span<UInt8>) -> Bool {
        run.key.compare(to: key) == 0
    }

    private static func passChange(
        of run: borrowing RunReader,
        to body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void,
        lastKey: inout [UInt8]
    ) throws(StoreError) {
        try body(run.key, run.value)
        lastKey.removeAll(keepingCapacity: true)
        unsafe run.key.withUnsafeBufferPointer { unsafe lastKey.append(contentsOf: $0) }
    }

    private static func compare(_ a: borrowing RunReader, with b: borrowing RunReader) -> Int {
        a.key.compare(to: b.key)
    }

    /// Fills the tree below a node and returns the winner there.
    private mutating func winner(below node: Int) -> Int {
        if node >= runCount { return node - runCount }
        let (left, right) = (winner(below: 2 * node), winner(below: 2 * node + 1))
        let isLeftFirst = comes(left, before: right)
        losers[node] = isLeftFirst ? right : left
        return isLeftFirst ? left : right
    }

    /// Compares the run with the losers on its path to the root, after it advanced.
    private mutating func updateLosers(from run: Int) {
        var winner = run
        var node = (run + runCount) / 2
        while node > 0 {
            let loser = losers[node]
            if comes(loser, before: winner) {
                losers[node] = winner
                winner = loser
            }
            node /= 2
        }
        losers[0] = winner
    }

    /// Whether the next change of run `a` comes before the next change of run `b`. A run at its end comes
    /// last. Of two changes of one key, the change of the newer run comes first.
    private func comes(_ a: Int, before b: Int) -> Bool {
        let (isAAtEnd, isBAtEnd) = unsafe (runs[a].isAtEnd, runs[b].isAtEnd)
        if isAAtEnd || isBAtEnd { return !isAAtEnd }
        let (prefixOfA, prefixOfB) = unsafe (runs[a].keyPrefix, runs[b].keyPrefix)
        if prefixOfA != prefixOfB { return prefixOfA < prefixOfB }
        let order = unsafe Self.compare(runs[a], with: runs[b])
        return order == 0 ? a > b : order < 0
    }
}
