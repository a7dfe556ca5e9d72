public import CSimdJSON

/// The members of an object. Each one asked for is marked, so that `refuseUnknownFields` knows what
/// nobody wanted: the code that reads the fields is the list of fields.
@usableFromInline
@safe package struct JSONObject {
    @usableFromInline let document: UnsafeMutablePointer<JSONDocument>
    /// Nil when there was no object to open: then every member is nowhere, without further problems.
    @usableFromInline let node: Int?

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, node: Int?) {
        unsafe self.document = unsafe document
        self.node = node
    }

    /// How many members it has.
    package var count: Int {
        guard let node else { return 0 }
        return unsafe Int(document.pointee.index.nodes[node].low)
    }

    /// The member of this name, present or missing. Fastest when members are asked for in the order
    /// in which they were written: the search begins behind the last one found.
    package subscript(_ name: StaticString) -> JSONValue {
        @inlinable @inline(always)
        get {
            guard let node else { return unsafe JSONValue(nowhereIn: document) }
            if let member = find(name, in: node) {
                return unsafe JSONValue(document: document, node: member)
            }
            return unsafe JSONValue(document: document, missing: name, inObject: node)
        }
    }

    /// Notes each member that was not asked for: a typo must not become a silent default.
    package func refuseUnknownFields() {
        guard let node else { return }
        let end = unsafe Int(nodes[node].next)
        var member = node + 1
        while member < end {
            if unsafe nodes[member].kind & JSONDocument.seenFlag == 0 {
                unsafe JSONValue(document: document, node: member)
                    .report("is not a known field; correct its name or leave it out", as: .unknownField)
            }
            unsafe member = Int(nodes[member].next)
        }
    }

    /// All members, in the order in which they were written. Does not mark them.
    package var members: JSONMembers {
        guard let node else { return unsafe JSONMembers(document: document, from: 0, to: 0) }
        return unsafe JSONMembers(
            document: document, from: node + 1, to: Int(document.pointee.index.nodes[node].next))
    }

    @inlinable @inline(always)
    func find(_ name: StaticString, in object: Int) -> Int? {
        let node = unsafe nodes + object
        guard unsafe node.pointee.names & name.nameBit != 0 else { return nil }
        let next = unsafe node.pointee.high
        guard unsafe next < node.pointee.next else { return search(name, in: object) }
        let member = unsafe nodes + Int(next)
        guard unsafe isNamed(name, member) else { return search(name, in: object) }
        unsafe member.pointee.kind |= JSONDocument.seenFlag
        unsafe node.pointee.high = member.pointee.next
        return Int(next)
    }

    /// For members that are asked for in another order: all of them, behind the last one found and then
    /// before it.
    @usableFromInline @inline(never)
    func search(_ name: StaticString, in object: Int) -> Int? {
        let next = unsafe nodes[object].high
        guard
            let found = unsafe search(name, from: next, to: nodes[object].next)
                ?? search(name, from: UInt32(object) + 1, to: next)
        else { return nil }
        unsafe nodes[found].kind |= JSONDocument.seenFlag
        unsafe nodes[object].high = nodes[found].next
        return found
    }

    private func search(_ name: StaticString, from start: UInt32, to end: UInt32) -> Int? {
        var member = start
        while member < end {
            let node = unsafe nodes + Int(member)
            if unsafe isNamed(name, node) { return Int(member) }
            unsafe member = node.pointee.next
        }
        return nil
    }

    @inlinable @inline(always)
    func isNamed(_ name: StaticString, _ member: UnsafeMutablePointer<json_node>) -> Bool {
        let (start, end) = unsafe (member.pointee.key_start, member.pointee.key_end)
        return unsafe name.isAt(document.pointee.index.text + Int(start), length: end &- start)
    }

    @inlinable
    var nodes: UnsafeMutablePointer<json_node> { unsafe document.pointee.index.nodes }
}

extension JSONValue {
    /// The members; of an empty object, and noted, when this is none.
    @inlinable
    package func object() -> JSONObject {
        guard let nodeIndex, unsafe holds(JSON_OBJECT) != nil else {
            reportKind(wanted: "an object")
            return unsafe JSONObject(document: document, node: nil)
        }
        return unsafe JSONObject(document: document, node: nodeIndex)
    }
}
