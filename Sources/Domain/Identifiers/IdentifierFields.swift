package import JSON

// Identifiers as fields of JSON. Each reader reports a wrong value and returns a placeholder.

extension JSONValue {
    package func name() -> String {
        guard let text = unsafe utf8IfString() else { return "" }
        unsafe reportName(text)
        return unsafe string(from: text)
    }

    private func reportName(_ text: UnsafeBufferPointer<UInt8>) {
        // In a document of plain ASCII only the length can be wrong.
        if isPlainASCII, (1...NameRules.bytesMax).contains(text.count) { return }
        if let problem = unsafe NameRules.problem(utf8: text) { report(problem) }
    }

    package func appID() -> String {
        guard let text = unsafe utf8IfString() else { return "" }
        if let problem = unsafe AppIDRules.problem(utf8: text) { report(problem) }
        return unsafe string(from: text)
    }

    /// Checks a name whose bytes the caller reads in place by `utf8`. Both calls together report as `name` does.
    package func checkName() {
        if isString { unsafe reportName(utf8()) }
    }

    package func recipient() -> Recipient {
        guard let text = unsafe utf8IfString() else { return .user("") }
        if let recipient = unsafe Recipient(utf8: text) { return recipient }
        report("must be u: and a user, or i: and an installation")
        return .user("")
    }

    package func environment() -> Environment {
        if isText("production") { return .production }
        if isText("sandbox") { return .sandbox }
        return choice(of: Environment.self) ?? .production
    }

    package func names(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.name()) }
        return list
    }
}

extension JSONWriter {
    /// Writes the recipient in the form of `Recipient.text`.
    package mutating func value(_ recipient: Recipient) {
        switch recipient {
        case .user(let id): value(prefix: "u:", rest: id)
        case .installation(let id): value(prefix: "i:", rest: id)
        }
    }

    /// Writes the field, or nothing if the value is nil.
    package mutating func field(_ name: StaticString, _ recipient: Recipient?) {
        guard let recipient else { return }
        self.name(name)
        value(recipient)
    }
}
