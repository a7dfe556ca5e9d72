package import HTTP2

/// Templates for the pushes of a send. They belong to a pool of this client, and are made and used on its loop.
extension APNsClient {
    /// Returns a template for the pushes of one send to tokens. It has a pool for each kind of
    /// connections.
    package func template(
        _ profile: PushProfile, _ headers: LiveActivityHeaders, body: [UInt8]
    ) throws(HeaderFieldError) -> PushTemplate {
        let endpoint = provider.settings.hosts(for: profile.environment).push
        let pools = ByConnections(each: {
            pool(for: ConnectionPool.Key(endpoint: endpoint, profile: profile, purpose: .pushes($0)))
        })
        return try PushTemplate(.device, headers: headers.fields, body: body, pools: pools)
    }

    /// Returns a template for one broadcast to a channel.
    package func template(
        _ profile: PushProfile, broadcast headers: BroadcastHeaders, body: [UInt8]
    ) throws(HeaderFieldError) -> PushTemplate {
        let endpoint = provider.settings.hosts(for: profile.environment).broadcast
        return try PushTemplate(
            .fixed(path: Array("/4/broadcasts/apps/\(profile.bundleID)".utf8)), headers: headers.fields,
            body: body,
            pool: pool(
                for: ConnectionPool.Key(endpoint: endpoint, profile: profile, purpose: .pushes(.usual)))
        )
    }
}
