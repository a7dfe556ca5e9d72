internal import Identifiers
internal import JSON

// The JSON of scope keys and of an expansion's targets, as members of records.

extension JSONWriter {
    /// Writes the key as the members `app`, `group` or `activity`, and `owner`.
    package mutating func field(_ key: ScopeKey) {
        field("app", key.app)
        switch key.subject {
        case .group(let name): field("group", name)
        case .activity(let name): field("activity", name)
        }
        field("owner", key.recipient)
    }

    mutating func field(_ name: StaticString, _ targets: Expansion.Targets) {
        switch targets {
        case .everyone: field(name, Audience.everyone)
        case .group, .newMembers: field(name, Audience.group)
        case .segments(let names): field(name, Audience.segments(names))
        case .tags(let names): field(name, Audience.tags(names))
        case .combination(let combination): field(name, Audience.combination(combination))
        case .activities(let names): field(name, Audience.activities(names))
        case .recipients(let recipients):
            self.name(name)
            beginObject()
            self.name("recipients")
            beginArray()
            for recipient in recipients { value(recipient) }
            endArray()
            endObject()
        }
    }

    private mutating func value(_ scoped: Expansion.ScopedRecipient) {
        beginObject()
        field("recipient", scoped.recipient)
        field("scope", scoped.scope == .group ? nil : scoped.scope.rawValue)
        field("generation", scoped.generation)
        field("version", scoped.version)
        field("timestamp", scoped.timestamp)
        endObject()
    }
}

extension JSONObject {
    package func scopeKey() -> ScopeKey {
        let app = self["app"].appID()
        if let activity = self["activity"].optional?.name() { return ScopeKey(app: app, activity: activity) }
        return ScopeKey(app: app, group: self["group"].name(), recipient: self["owner"].optional?.recipient())
    }
}

extension JSONValue {
    func targets() -> Expansion.Targets {
        if kind == .object, let recipients = object()["recipients"].optional {
            return .recipients(recipients.scopedRecipients())
        }
        // All other targets have the form of an audience.
        switch audience() {
        case .everyone: return .everyone
        case .segments(let names): return .segments(names)
        case .tags(let names): return .tags(names)
        case .combination(let combination): return .combination(combination)
        case .group: return .group
        case .activities(let names): return .activities(names)
        case .users:
            report("must have recipients, each with its version")
            return .group
        }
    }

    private func scopedRecipients() -> [Expansion.ScopedRecipient] {
        var recipients: [Expansion.ScopedRecipient] = []
        var elements = array(countMax: Audience.namesMax)
        while let element = elements.next() {
            let object = element.object()
            recipients.append(
                Expansion.ScopedRecipient(
                    object["recipient"].recipient(),
                    scope: object["scope"].optional?.choice(of: ScopeKind.self) ?? .group,
                    generation: object["generation"].version(), version: object["version"].version(),
                    timestamp: object["timestamp"].optional?.seconds()))
        }
        return recipients
    }

    /// Reads bytes from hexadecimal digits.
    func hex() -> [UInt8] {
        let text = string()
        guard let bytes = Hex.decode(Array(text.utf8)) else {
            if kind == .string { report("must be an even number of hexadecimal digits") }
            return []
        }
        return bytes
    }
}
