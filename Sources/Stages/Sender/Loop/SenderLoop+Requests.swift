internal import APNs
internal import Catalog
internal import CatalogRecords
internal import Jobs
internal import StageSupport

// The requests of sheets (`PushTemplate`: all of a push but its token and id), and the capacity of the connections for
// them.
extension SenderLoop {
    /// Returns how many pushes of a sheet the connections take. The sheet's request is made for this, if it has none.
    func availability(of sheet: Sheet, over connections: PushConnections) -> PushAvailability {
        // After the end, and before the catalog is read, no push can leave.
        guard let client else { return .open(capacity: 0) }
        if let template = sheet.template {
            return availability(of: template, over: connections, by: client)
        }
        guard let catalog = environment.catalog else { return .open(capacity: 0) }
        guard let app = catalog.apps[sheet.head.app] else { return .closed(reason: "unknown_app") }
        let profile = PushProfile(
            environment: sheet.head.environment, bundleID: app.bundleID,
            key: ProviderKeyName(teamID: app.teamID, keyID: app.keyID))
        do {
            let template = try sharedTemplate(of: sheet, for: profile)
            sheet.template = template
            return availability(of: template, over: connections, by: client)
        } catch {
            return .faulty(code: "header_faulty")
        }
    }

    private func availability(
        of template: PushTemplate, over connections: PushConnections, by client: APNsClient
    )
        -> PushAvailability
    {
        let capacity = client.capacity(for: template, over: connections)
        return client.isConnecting(for: template)
            ? .connecting(capacity: capacity) : .open(capacity: capacity)
    }

    /// Returns the request of a sheet. Sheets of one send share a request, because making it costs as much as
    /// thirty pushes.
    private func sharedTemplate(of sheet: Sheet, for profile: PushProfile) throws -> PushTemplate {
        if let last = lastTemplate, last.fits(sheet, profile: profile) { return last.template }
        usedProfiles.insert(profile)
        let template = try self.template(of: sheet, line: 0, for: profile)
        lastTemplate = sheet.head.isBroadcast ? nil : CachedPushTemplate(template, for: profile, of: sheet)
        return template
    }

    /// Makes the request of a line. All lines of a sheet have the same request, except those of broadcasts: each of
    /// them pushes to another channel.
    func template(of sheet: Sheet, line: Int, for profile: PushProfile) throws -> PushTemplate {
        guard let client else { throw ClientIsClosed() }
        let head = sheet.head
        guard head.isBroadcast else {
            return try client.template(
                profile,
                LiveActivityHeaders(
                    topic: head.topic, priority: head.priority, expiration: head.expiration,
                    collapseID: head.collapseID), body: sheet.content.body)
        }
        let channel = sheet.text(sheet.index.lines[line].token)
        return try client.template(
            profile,
            broadcast: BroadcastHeaders(
                channelID: channel, priority: head.priority, expiration: head.expiration),
            body: sheet.content.body)
    }
}

/// The client is closed, so no request can be made.
private struct ClientIsClosed: Error {}
