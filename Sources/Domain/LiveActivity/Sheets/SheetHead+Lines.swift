// The encoding of a sheet's head in its headers `apns` and `flotilla`.

extension SheetHead {
    /// The request's header lines, exactly as APNs receives them.
    package var apnsLines: [UInt8] {
        var writer = HeaderLinesWriter()
        writer.line(.topic, topic)
        writer.line(.priority, Int64(priority))
        writer.line(.expiration, expiration)
        writer.line(.collapseID, collapseID)
        return writer.bytes
    }

    /// The bookkeeping lines. Default values are left out.
    package var flotillaLines: [UInt8] {
        var writer = HeaderLinesWriter()
        writer.line(.version, Int64(Self.schemaVersion))
        writer.line(.app, app)
        writer.line(.environment, environment.rawValue)
        writer.line(.broadcast, isBroadcast ? "1" : nil)
        writer.line(.send, send)
        writer.line(.group, group)
        writer.line(.scope, scope == .group ? nil : scope.rawValue)
        writer.line(.generation, generation)
        writer.line(.order, version)
        writer.line(.event, event.rawValue)
        writer.line(.deadline, deadline)
        writer.line(.attemptsMax, attemptsMax == Self.attemptsUsual ? nil : String(attemptsMax))
        writer.line(.conflate, conflate ? nil : "0")
        writer.line(.unknownStart, onUnknownStart == .skip ? nil : onUnknownStart.rawValue)
        writer.line(.acceptedAt, acceptedAt)
        return writer.bytes
    }

    /// Reads both headers.
    package init(apns: Span<UInt8>, flotilla: Span<UInt8>) throws(SheetError) {
        let request = try HeaderLines(apns)
        let lines = try HeaderLines(flotilla)
        let version = try lines.number(.version)
        guard version == Self.schemaVersion else { throw .unknownVersion(version) }
        let app = try lines.text(.app)
        guard AppID.problem(app) == nil else { throw .wrong(.app) }
        self.init(
            topic: try request.name(.topic), priority: Int(try request.number(.priority, in: 1...10)),
            expiration: try request.number(.expiration), app: app,
            environment: try lines.choice(.environment, of: Environment.self),
            send: try lines.name(.send),
            group: lines.optional(.group) == nil ? nil : try lines.name(.group),
            scope: lines.optional(.scope) == nil ? .group : try lines.choice(.scope, of: Scope.self),
            generation: try lines.number(.generation), version: try lines.number(.order),
            event: try lines.choice(.event, of: PushEvent.self), deadline: try lines.number(.deadline),
            acceptedAt: try lines.number(.acceptedAt))
        collapseID = request.optional(.collapseID)
        isBroadcast = lines.optional(.broadcast) == "1"
        conflate = lines.optional(.conflate) != "0"
        if lines.optional(.attemptsMax) != nil {
            attemptsMax = Int(try lines.number(.attemptsMax, in: 1...1000))
        }
        if lines.optional(.unknownStart) != nil {
            onUnknownStart = try lines.choice(.unknownStart, of: Send.UnknownStart.self)
        }
    }
}
