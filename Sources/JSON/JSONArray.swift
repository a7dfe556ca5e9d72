internal import CSimdJSON

/// The elements of an array, in order.
@safe package struct JSONArray: Sequence, IteratorProtocol {
    package let count: Int
    private let document: UnsafeMutablePointer<JSONDocument>
    private var position: Int
    private var left: Int

    init(document: UnsafeMutablePointer<JSONDocument>, from start: Int, count: Int) {
        unsafe self.document = unsafe document
        self.count = count
        position = start
        left = count
    }

    package mutating func next() -> JSONValue? {
        guard left > 0 else { return nil }
        left -= 1
        let node = position
        unsafe position = Int(document.pointee.index.nodes[node].next)
        return unsafe JSONValue(document: document, node: node)
    }
}

extension JSONValue {
    /// The elements; none, and noted, when this is no array or has more than `countMax`.
    package func array(countMax: Int) -> JSONArray {
        guard let nodeIndex, let node = unsafe holds(JSON_ARRAY) else {
            reportKind(wanted: "an array")
            return unsafe JSONArray(document: document, from: 0, count: 0)
        }
        let count = unsafe Int(node.pointee.low)
        if count > countMax {
            report("has \(count) elements, \(countMax) are allowed", as: .outOfRange)
            return unsafe JSONArray(document: document, from: 0, count: 0)
        }
        return unsafe JSONArray(document: document, from: nodeIndex + 1, count: count)
    }
}
