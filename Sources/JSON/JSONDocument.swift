public import CSimdJSON

/// What a reader holds: the index of the present document, and what decoding found wrong with it.
/// Values point here. It lives as long as the reader; every `read` fills it anew.
@usableFromInline
@safe struct JSONDocument {
    /// In a node's `kind`: its member was asked for.
    @inlinable @inline(always) static var seenFlag: UInt32 { 0x100 }
    @inlinable @inline(always) static var kindMask: UInt32 { 0xFF }

    @usableFromInline var index = unsafe json_document()
    /// Grows with every read, so that a value kept beyond its document is noticed.
    @usableFromInline var generation: UInt32 = 0
    var problemsMax = 0
    var problems: [JSONProblem] = []
    var unlisted = 0

    /// False, and one more is counted, when there are as many problems as are listed.
    mutating func listsMore() -> Bool {
        if problems.count < problemsMax { return true }
        unlisted += 1
        return false
    }

    /// The path of a node, found by walking down to it: paths cost nothing until one is needed.
    func path(of target: Int, member: String? = nil) -> String {
        var path = JSONPath()
        var node = 0
        while node != target {
            let isObject = unsafe index.nodes[node].kind & Self.kindMask == JSON_OBJECT.rawValue
            var child = node + 1
            var position = 0
            while unsafe Int(index.nodes[child].next) <= target {
                unsafe child = Int(index.nodes[child].next)
                position += 1
            }
            if isObject { path.append(name: name(of: child)) } else { path.append(index: position) }
            node = child
        }
        if let member { path.append(name: member) }
        return path.text
    }

    func name(of node: Int) -> String {
        let (start, end) = unsafe (index.nodes[node].key_start, index.nodes[node].key_end)
        return unsafe String(
            decoding: UnsafeBufferPointer(start: index.text + Int(start), count: Int(end - start)),
            as: UTF8.self)
    }
}
