public import CSimdJSON

/// A sequence of the elements of an array, read in place from the document.
@usableFromInline
@safe package struct JSONArray: Sequence, IteratorProtocol {
    /// The number of all elements.
    @usableFromInline package let count: Int
    @usableFromInline let document: UnsafeMutablePointer<JSONDocument>
    /// The node of the next element.
    @usableFromInline var position: Int
    /// The number of elements that were not returned yet.
    @usableFromInline var remainingCount: Int

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, from start: Int, count: Int) {
        unsafe self.document = unsafe document
        self.count = count
        position = start
        remainingCount = count
    }

    @inlinable @inline(always)
    package mutating func next() -> JSONValue? {
        guard remainingCount > 0 else { return nil }
        remainingCount -= 1
        let node = position
        unsafe position = Int(document.pointee.index.nodes[node].next)
        return unsafe JSONValue(document: document, node: node)
    }
}

extension JSONValue {
    /// Returns the elements. If this is not an array or has more than `countMax`, reports a problem and
    /// returns none.
    @inlinable @inline(always)
    package func array(countMax: Int) -> JSONArray {
        guard let nodeIndex, let node = unsafe matchingNode(ofKind: JSON_ARRAY),
            unsafe node.pointee.childCount <= countMax
        else {
            reportArray(countMax: countMax)
            return unsafe JSONArray(document: document, from: 0, count: 0)
        }
        return unsafe JSONArray(document: document, from: nodeIndex + 1, count: node.pointee.childCount)
    }

    @usableFromInline
    func reportArray(countMax: Int) {
        guard let node = unsafe matchingNode(ofKind: JSON_ARRAY) else {
            return reportWrongKind(wanted: "an array")
        }
        report("has \(unsafe node.pointee.childCount) elements, \(countMax) are allowed", as: .outOfRange)
    }
}
