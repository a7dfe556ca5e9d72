internal import Identifiers
internal import Payloads
internal import Sends

// The encoding of a sheet's head in its headers `apns` and `flotilla`.

extension SheetHead {
    /// The values of `triesMax` that a record may have.
    private static let triesRange: ClosedRange<Int64> = 1...1000

    /// The request's header lines, exactly as APNs receives them.
    package var apnsLines: [UInt8] {
        var writer = HeaderLinesWriter()
        writer.append(.topic, value: topic)
        writer.append(.priority, value: Int64(priority.rawValue))
        writer.append(.expiration, value: expiration)
        writer.append(.collapseID, value: collapseID)
        return writer.bytes
    }

    /// The bookkeeping lines. Default values are left out.
    package var flotillaLines: [UInt8] {
        var writer = HeaderLinesWriter()
        writer.append(.schemaVersion, value: Int64(Self.schemaVersion))
        writer.append(.app, value: app)
        writer.append(.environment, value: environment.rawValue)
        writer.append(.broadcast, value: isBroadcast ? "1" : nil)
        writer.append(.send, value: send)
        writer.append(.group, value: group)
        writer.append(.scope, value: scope == .group ? nil : scope.rawValue)
        writer.append(.generation, value: generation)
        writer.append(.version, value: version)
        writer.append(.event, value: event.rawValue)
        writer.append(.deadline, value: deadline)
        writer.append(.triesMax, value: triesMax == Self.triesDefault ? nil : String(triesMax))
        writer.append(.conflate, value: isConflatable ? nil : "0")
        writer.append(.unknownStart, value: unknownStartPolicy == .skip ? nil : unknownStartPolicy.rawValue)
        writer.append(.acceptedAt, value: acceptedAt)
        return writer.bytes
    }

    /// Reads both headers. A line that was left out has its default value.
    package init(apns: Span<UInt8>, flotilla: Span<UInt8>) throws(SheetError) {
        let request = try HeaderLines(parsing: apns)
        let lines = try HeaderLines(parsing: flotilla)
        let schemaVersion = try lines.number(of: .schemaVersion)
        guard schemaVersion == Self.schemaVersion else { throw .unknownVersion(schemaVersion) }
        let app = try lines.text(of: .app)
        guard AppIDRules.problem(app) == nil else { throw .invalid(.app) }
        self.init(
            topic: try request.name(of: .topic), priority: try request.pushPriority(),
            expiration: try request.number(of: .expiration), app: app,
            environment: try lines.choice(of: .environment, as: Environment.self),
            send: try lines.name(of: .send),
            group: lines.optionalText(of: .group) == nil ? nil : try lines.name(of: .group),
            scope: lines.optionalText(of: .scope) == nil
                ? .group : try lines.choice(of: .scope, as: ScopeKind.self),
            generation: try lines.number(of: .generation), version: try lines.number(of: .version),
            event: try lines.choice(of: .event, as: PushEvent.self),
            deadline: try lines.number(of: .deadline),
            acceptedAt: try lines.number(of: .acceptedAt))
        collapseID = request.optionalText(of: .collapseID)
        isBroadcast = lines.optionalText(of: .broadcast) == "1"
        isConflatable = lines.optionalText(of: .conflate) != "0"
        if let number = try lines.optionalNumber(of: .triesMax, in: Self.triesRange) {
            triesMax = Int(number)
        }
        if lines.optionalText(of: .unknownStart) != nil {
            unknownStartPolicy = try lines.choice(of: .unknownStart, as: Send.UnknownStartPolicy.self)
        }
    }
}
