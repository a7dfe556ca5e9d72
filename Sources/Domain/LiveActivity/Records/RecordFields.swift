package import JSON

// Readers for field types that many records share. Each reports a wrong value and returns a placeholder.

extension JSONValue {
    package func name() -> String {
        guard let text = unsafe text else { return "" }
        unsafe reportName(text)
        return unsafe string(from: text)
    }

    private func reportName(_ text: UnsafeBufferPointer<UInt8>) {
        // In a plain document only the length can be wrong.
        if isPlain, (1...NameRules.bytesMax).contains(text.count) { return }
        if let problem = unsafe NameRules.problem(utf8: text) { report(problem) }
    }

    func appID() -> String {
        guard let text = unsafe text else { return "" }
        if let problem = unsafe AppIDRules.problem(utf8: text) { report(problem) }
        return unsafe string(from: text)
    }

    /// Checks a name whose bytes the caller reads in place, with the same reports as `name`.
    package func checkName() {
        if isString { unsafe reportName(utf8) }
    }

    package func recipient() -> Recipient {
        guard let text = unsafe text else { return .user("") }
        if let recipient = unsafe Recipient(utf8: text) { return recipient }
        report("must be u: and a user, or i: and an installation")
        return .user("")
    }

    package func environment() -> Environment {
        if isText("production") { return .production }
        if isText("sandbox") { return .sandbox }
        return choice(of: Environment.self) ?? .production
    }

    /// Seconds since 1970.
    func seconds() -> Int64 { Int64(int(in: 0...(1 << 53))) }

    package func rawJSON() -> RawJSON { unsafe RawJSON(accepted: raw) }

    package func names(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.name()) }
        return list
    }

    /// Reads an array of objects. A missing array is empty.
    func objects<Element>(countMax: Int, read: (JSONObject) -> Element) -> [Element] {
        guard let value = optional else { return [] }
        var list: [Element] = []
        var elements = value.array(countMax: countMax)
        while let element = elements.next() { list.append(read(element.object())) }
        return list
    }
}

extension JSONWriter {
    /// Writes an array of objects, or nothing if it is empty.
    mutating func objects<Element>(
        _ name: StaticString, unlessEmpty elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) {
        if !elements.isEmpty { objects(name, of: elements, write: write) }
    }

    /// Writes the recipient in the form of `Recipient.text`.
    mutating func value(_ recipient: Recipient) {
        switch recipient {
        case .user(let id): value(prefix: "u:", rest: id)
        case .installation(let id): value(prefix: "i:", rest: id)
        }
    }

    /// Writes the field, or nothing if the value is nil.
    mutating func field(_ name: StaticString, _ recipient: Recipient?) {
        guard let recipient else { return }
        self.name(name)
        value(recipient)
    }

    /// Writes the field, or nothing if the value is nil.
    package mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        self.name(name)
        raw(value)
    }
}
