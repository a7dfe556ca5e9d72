public import CSimdJSON

/// An object, from which code requests members by name: `object["priority"].int()`. Each requested member is
/// marked, so that `reportUnknownFields` finds the others. So the code that reads the fields is the only list
/// of fields.
@usableFromInline
@safe package struct JSONObject {
    @usableFromInline let document: UnsafeMutablePointer<JSONDocument>
    /// The object's node. Nil if the value is not an object, which was already reported. Then every member is
    /// absent, and reports no further problem.
    @usableFromInline let node: Int?

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, node: Int?) {
        unsafe self.document = unsafe document
        self.node = node
    }

    /// The number of members.
    package var count: Int {
        guard let node else { return 0 }
        return unsafe nodes[node].childCount
    }

    /// Returns the member of this name, present or missing. It is fastest if members are requested in the
    /// order of the document, because a search starts after the last member that was found.
    package subscript(_ name: StaticString) -> JSONValue {
        @inlinable @inline(always)
        get {
            guard let node else { return unsafe JSONValue(absentIn: document) }
            if let member = find(name, in: node) {
                return unsafe JSONValue(document: document, node: member)
            }
            return unsafe JSONValue(document: document, missing: name, inObject: node)
        }
    }

    /// Reports each member that was not requested, so that a misspelled name does not silently become a
    /// default.
    package func reportUnknownFields() {
        guard let node else { return }
        let end = unsafe Int(nodes[node].next)
        var member = node + 1
        while member < end {
            if unsafe nodes[member].kind & JSONDocument.requestedFlag == 0 {
                unsafe JSONValue(document: document, node: member)
                    .report("is not a known field; correct its name or leave it out", as: .unknownField)
            }
            unsafe member = Int(nodes[member].next)
        }
    }

    /// All members in the order of the document. They are not marked.
    package var members: JSONMembers {
        guard let node else { return unsafe JSONMembers(document: document, from: 0, to: 0) }
        return unsafe JSONMembers(
            document: document, from: node + 1, to: Int(document.pointee.index.nodes[node].next))
    }

    /// Returns the node of a member and marks it.
    ///
    /// The object's node has two fields for this: `names`, a bit set of the hashes of all names, and `high`,
    /// the node after the member that was found last.
    @inlinable @inline(always)
    func find(_ name: StaticString, in object: Int) -> Int? {
        let node = unsafe nodes + object
        guard unsafe node.pointee.names & name.nameBit != 0 else { return nil }
        // Code usually requests members in the order of the document.
        let likelyIndex = unsafe node.pointee.high
        guard unsafe likelyIndex < node.pointee.next else { return search(name, in: object) }
        let member = unsafe nodes + Int(likelyIndex)
        guard unsafe isName(name, of: member) else { return search(name, in: object) }
        unsafe member.pointee.kind |= JSONDocument.requestedFlag
        unsafe node.pointee.high = member.pointee.next
        return Int(likelyIndex)
    }

    /// Searches all members, and marks the member found: first the members after the last one found, then the
    /// members before it.
    @usableFromInline @inline(never)
    func search(_ name: StaticString, in object: Int) -> Int? {
        let afterLastFound = unsafe nodes[object].high
        guard
            let member = unsafe search(name, from: afterLastFound, to: nodes[object].next)
                ?? search(name, from: UInt32(object) + 1, to: afterLastFound)
        else { return nil }
        unsafe nodes[member].kind |= JSONDocument.requestedFlag
        unsafe nodes[object].high = nodes[member].next
        return member
    }

    private func search(_ name: StaticString, from start: UInt32, to end: UInt32) -> Int? {
        var member = start
        while member < end {
            let node = unsafe nodes + Int(member)
            if unsafe isName(name, of: node) { return Int(member) }
            unsafe member = node.pointee.next
        }
        return nil
    }

    /// Whether the member has this name.
    @inlinable @inline(always)
    func isName(_ name: StaticString, of member: UnsafeMutablePointer<json_node>) -> Bool {
        let (start, end) = unsafe (member.pointee.key_start, member.pointee.key_end)
        return unsafe name.isEqual(toTextAt: document.pointee.index.text + Int(start), length: end &- start)
    }

    @inlinable
    var nodes: UnsafeMutablePointer<json_node> { unsafe document.pointee.index.nodes }
}

extension JSONValue {
    /// Returns the object. If this is not an object, reports a problem and returns one without members.
    @inlinable
    package func object() -> JSONObject {
        guard let nodeIndex, unsafe matchingNode(ofKind: JSON_OBJECT) != nil else {
            reportWrongKind(wanted: "an object")
            return unsafe JSONObject(document: document, node: nil)
        }
        return unsafe JSONObject(document: document, node: nodeIndex)
    }
}
