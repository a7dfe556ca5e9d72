internal import JSON

// Readers for the kinds of fields that records share. Each notes what is wrong and returns a placeholder.

extension JSONValue {
    func name() -> String {
        let text = string()
        if kind == .string, let problem = Name.problem(text) { report(problem) }
        return text
    }

    func appID() -> String {
        let text = string()
        if kind == .string, let problem = AppID.problem(text) { report(problem) }
        return text
    }

    func recipient() -> Recipient {
        let text = string()
        if let recipient = Recipient(text: text) { return recipient }
        if kind == .string { report("must be u: and a user, or i: and an installation") }
        return .user("")
    }

    func environment() -> Environment { choice(of: Environment.self) ?? .production }

    /// Milliseconds since 1970.
    func time() -> Int64 { Int64(int(in: 0...(1 << 53))) }

    /// Seconds since 1970.
    func seconds() -> Int64 { Int64(int(in: 0...(1 << 53))) }

    func rawJSON() -> RawJSON { unsafe RawJSON(accepted: raw) }

    func strings(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.string()) }
        return list
    }

    func names(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.name()) }
        return list
    }
}

// And writers for optional fields: what is nil is left out.

extension JSONWriter {
    mutating func field(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Int?) { field(name, value.map(Int64.init)) }

    mutating func field(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    mutating func field(_ name: StaticString, _ value: RawJSON?) {
        guard let value else { return }
        self.name(name)
        raw(value)
    }

    mutating func field(_ name: StaticString, _ values: [String]?) {
        guard let values else { return }
        self.name(name)
        beginArray()
        for value in values { self.value(value) }
        endArray()
    }
}
