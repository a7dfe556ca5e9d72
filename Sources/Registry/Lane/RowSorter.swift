internal import Store

/// Puts any number of changes into the order of their keys within bounded memory: full batches are
/// sorted and written away as runs, and in the end all runs are read side by side. Of the changes of a
/// key only the last one comes out.
struct RowSorter: ~Copyable {
    private let directory: String
    private let runBytesMax: Int
    /// What is not yet in a run.
    var batch = RowBatch()
    private var runs = Runs()

    init(in directory: String, runBytesMax: Int) {
        self.directory = directory
        self.runBytesMax = runBytesMax
    }

    /// Noncopyable values go into no array; a list of boxes is one.
    private final class Run {
        var reader: RunReader
        init(_ reader: consuming RunReader) { self.reader = reader }
    }

    private struct Runs {
        var list: [Run] = []
    }

    private static let readBufferBytes = 256 << 10

    /// Sees to it that the batch can take more. When it throws, nothing that was taken is lost.
    mutating func makeRoom() throws(StoreError) {
        if batch.byteCount >= runBytesMax { try writeRun() }
    }

    mutating func put(_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) {
        try makeRoom()
        batch.put(key, value)
    }

    private mutating func writeRun() throws(StoreError) {
        batch.sort()
        var file = try RunFile(in: directory)
        try file.append(batch)
        runs.list.append(Run(try RunReader(file, bufferBytes: Self.readBufferBytes)))
        batch.removeAll()
    }

    /// Hands out every change in order, once, and forgets them.
    mutating func drain(
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        if runs.list.isEmpty {
            batch.sort()
            for index in 0..<batch.count where batch.isLast(index) {
                try body(batch.key(index), batch.value(index))
            }
        } else {
            if !batch.isEmpty { try writeRun() }
            batch = RowBatch()
            try merge(body)
        }
        batch = RowBatch()
        runs.list = []
    }

    /// A heap of runs by their present key, the newest of equal ones first.
    private func merge(
        _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>?) throws(StoreError) -> Void
    ) throws(StoreError) {
        var heap = Array(runs.list.indices.filter { !runs.list[$0].reader.isAtEnd })
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index, &heap) }
        var last: [UInt8] = []
        while let top = heap.first {
            let run = runs.list[top]
            if !run.reader.key.equals(last.span) || last.isEmpty {
                try body(run.reader.key, run.reader.value)
                last.removeAll(keepingCapacity: true)
                last.append(run.reader.key)
            }
            try run.reader.advance()
            if run.reader.isAtEnd {
                let end = heap.removeLast()
                if heap.isEmpty { break }
                heap[0] = end == top ? heap[0] : end
            }
            sink(0, &heap)
        }
    }

    private func sink(_ start: Int, _ heap: inout [Int]) {
        var at = start
        while true {
            var least = at
            for child in [2 * at + 1, 2 * at + 2] where child < heap.count {
                if precedes(heap[child], heap[least]) { least = child }
            }
            if least == at { return }
            heap.swapAt(at, least)
            at = least
        }
    }

    private func precedes(_ a: Int, _ b: Int) -> Bool {
        let (first, second) = (runs.list[a], runs.list[b])
        let heads = (first.reader.headOfKey, second.reader.headOfKey)
        if heads.0 != heads.1 { return heads.0 < heads.1 }
        let order = first.reader.key.order(to: second.reader.key)
        return order == 0 ? a > b : order < 0
    }
}
