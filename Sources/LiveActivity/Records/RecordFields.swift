package import JSON

// Readers for the kinds of fields that records share. Each notes what is wrong and returns a placeholder.

extension JSONValue {
    func name() -> String {
        let bytes = unsafe utf8
        if kind == .string, let problem = unsafe Name.problem(utf8: bytes) { report(problem) }
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    func appID() -> String {
        let text = string()
        if kind == .string, let problem = AppID.problem(text) { report(problem) }
        return text
    }

    /// For whoever takes a name's bytes in place: notes what `name` would note of a string.
    package func checkName() {
        if kind == .string, let problem = unsafe Name.problem(utf8: utf8) { report(problem) }
    }

    package func recipient() -> Recipient {
        if let recipient = unsafe Recipient(utf8: utf8) { return recipient }
        if kind == .string { report("must be u: and a user, or i: and an installation") }
        return .user("")
    }

    package func environment() -> Environment {
        if isText("production") { return .production }
        if isText("sandbox") { return .sandbox }
        return choice(of: Environment.self) ?? .production
    }

    /// Seconds since 1970.
    func seconds() -> Int64 { Int64(int(in: 0...(1 << 53))) }

    func rawJSON() -> RawJSON { unsafe RawJSON(accepted: raw) }

    func names(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.name()) }
        return list
    }
}

extension JSONWriter {
    /// What is nil is left out.
    package mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        self.name(name)
        raw(value)
    }
}
