internal import CSimdJSON
internal import Glibc

/// The members of an object. Each one asked for is marked, so that `refuseUnknownFields` knows what
/// nobody wanted: the code that reads the fields is the list of fields.
@safe package struct JSONObject {
    private let document: UnsafeMutablePointer<JSONDocument>
    /// Nil when there was no object to open: then every member is nowhere, without further problems.
    private let node: Int?

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
        guard let node else { return unsafe JSONValue(nowhereIn: document) }
        if let member = find(name, in: node) { return unsafe JSONValue(document: document, node: member) }
        return unsafe JSONValue(document: document, missing: name, inObject: node)
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

    private func find(_ name: StaticString, in object: Int) -> Int? {
        guard unsafe nodes[object].names & Self.bit(of: name) != 0 else { return nil }
        let first = UInt32(object) + 1
        let (end, hint) = unsafe (nodes[object].next, nodes[object].high)
        let start = hint > first && hint < end ? hint : first
        guard let found = find(name, from: start, to: end) ?? find(name, from: first, to: start) else {
            return nil
        }
        unsafe nodes[found].kind |= JSONDocument.seenFlag
        unsafe nodes[object].high = nodes[found].next
        return found
    }

    private func find(_ name: StaticString, from start: UInt32, to end: UInt32) -> Int? {
        let text = unsafe document.pointee.index.text!
        var member = start
        while member < end {
            let node = unsafe nodes + Int(member)
            if unsafe Self.matches(node, text, name) { return Int(member) }
            unsafe member = node.pointee.next
        }
        return nil
    }

    /// Most fields of most records are not there, and this says so without a search.
    private static func bit(of name: StaticString) -> UInt64 {
        let length = name.utf8CodeUnitCount
        let bytes = unsafe UnsafeRawPointer(name.utf8Start)
        var word: UInt64 = 0
        if length >= 8 {
            word = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        } else if length >= 4 {
            // Two halves that overlap.
            let first = unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
            let last = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: length - 4, as: UInt32.self))
            word = (UInt64(first) | UInt64(last) << UInt64(8 * (length - 4))) << UInt64(64 - 8 * length)
        } else {
            for place in 0..<length {
                word |=
                    UInt64(unsafe bytes.load(fromByteOffset: place, as: UInt8.self))
                    << UInt64(64 - 8 * (length - place))
            }
        }
        return json_name_bit(word, UInt32(length))
    }

    private var nodes: UnsafeMutablePointer<json_node> { unsafe document.pointee.index.nodes }

    private static func matches(
        _ node: UnsafeMutablePointer<json_node>, _ text: UnsafePointer<UInt8>, _ name: StaticString
    ) -> Bool {
        let length = unsafe Int(node.pointee.key_end - node.pointee.key_start)
        guard length == name.utf8CodeUnitCount else { return false }
        let key = unsafe UnsafeRawPointer(text + Int(node.pointee.key_start))
        let wanted = unsafe UnsafeRawPointer(name.utf8Start)
        // Most names have eight to sixteen letters: two words that overlap.
        guard length >= 8 && length <= 16 else { return unsafe memcmp(key, wanted, length) == 0 }
        return unsafe key.loadUnaligned(as: UInt64.self) == wanted.loadUnaligned(as: UInt64.self)
            && key.loadUnaligned(fromByteOffset: length - 8, as: UInt64.self)
                == wanted.loadUnaligned(fromByteOffset: length - 8, as: UInt64.self)
    }
}

extension JSONValue {
    /// The members; of an empty object, and noted, when this is none.
    package func object() -> JSONObject {
        guard let nodeIndex, unsafe holds(JSON_OBJECT) != nil else {
            reportKind(wanted: "an object")
            return unsafe JSONObject(document: document, node: nil)
        }
        return unsafe JSONObject(document: document, node: nodeIndex)
    }
}
