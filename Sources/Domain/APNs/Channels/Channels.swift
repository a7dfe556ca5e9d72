internal import HTTP2
internal import JSON
internal import Lifecycle

/// Creates, reads, deletes and lists an app's broadcast channels on Apple's management hosts. It is meant for
/// a few calls a minute: each call is one request.
package struct Channels: Sendable {
    /// Apple's limit on channels for each app and environment.
    package static let perAppMax = 10_000
    private static let deadlineMilliseconds = 15_000

    private let client: LoopOwned<APNsClient>

    /// Call on the client's loop.
    package init(_ client: APNsClient) { self.client = LoopOwned(client, on: client.loop) }

    /// Creates a channel and returns its id. The id is random, and is valid only for this app and
    /// environment.
    package func create(_ profile: PushProfile, storing storage: ChannelStorage) async throws(ChannelProblem)
        -> String
    {
        var body = JSONWriter(capacity: 64)
        body.beginObject()
        body.name("message-storage-policy")
        body.value(storage.rawValue)
        body.name("push-type")
        body.value("LiveActivity")
        body.endObject()
        let details = try await ask(profile, "POST", on: "channels", body: body.bytes)
        guard let id = details.channelID, !id.isEmpty else { throw .unreadable }
        return id
    }

    /// Returns the storage policy of a channel.
    package func read(_ profile: PushProfile, _ channelID: String) async throws(ChannelProblem)
        -> ChannelStorage
    {
        let details = try await ask(profile, "GET", on: "channels", of: channelID)
        let policy = try? JSONReader().read(details.body) {
            $0.object()["message-storage-policy"].int(in: 0...1)
        }
        guard let policy, let storage = ChannelStorage(rawValue: policy) else { throw .unreadable }
        return storage
    }

    /// Deletes a channel. Messages in transit may still arrive.
    package func delete(_ profile: PushProfile, _ channelID: String) async throws(ChannelProblem) {
        _ = try await ask(profile, "DELETE", on: "channels", of: channelID)
    }

    package func list(_ profile: PushProfile) async throws(ChannelProblem) -> [String] {
        let details = try await ask(profile, "GET", on: "all-channels")
        let list = try? JSONReader().read(details.body) { value in
            var ids: [String] = []
            var elements = value.object()["channels"].array(countMax: Channels.perAppMax)
            while let element = elements.next() { ids.append(element.string()) }
            return ids
        }
        guard let list else { throw .unreadable }
        return list
    }

    // MARK: One request

    private func ask(
        _ profile: PushProfile, _ method: String, on what: String, of channelID: String? = nil,
        body: [UInt8] = []
    ) async throws(ChannelProblem) -> PushDetails {
        let answer = await withCheckedContinuation { continuation in
            let isRunning = client.execute { client in
                Self.begin(profile, method, on: what, of: channelID, body: body, by: client) {
                    continuation.resume(returning: $0)
                }
            }
            if !isRunning { continuation.resume(returning: .failure(.notTaken(.stopped))) }
        }
        return try answer.get()
    }

    private static func begin(
        _ profile: PushProfile, _ method: String, on what: String, of channelID: String?, body: [UInt8],
        by client: APNsClient, then done: @escaping @Sendable (Result<PushDetails, ChannelProblem>) -> Void
    ) {
        let endpoint = client.provider.settings.hosts(profile.environment).channels
        let pool = client.pool(ConnectedPool.Key(endpoint: endpoint, profile: profile, purpose: .channels))
        let path = "/1/apps/\(profile.bundleID)/\(what)"
        let headers = channelID.map { [HeaderField("apns-channel-id", $0)] } ?? []
        let isPath = path.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPath,
            let template = try? PushTemplate(
                .fixed(path: Array(path.utf8)), method: method, headers: headers, body: body, pool: pool)
        else { return done(.failure(.badName)) }
        let deadline = client.loop.now.advanced(byMilliseconds: Channels.deadlineMilliseconds)
        do {
            try client.ask(template, within: PushLimits(deadline: deadline)) { outcome, details in
                done(Channels.result(outcome, details))
            }
        } catch {
            done(.failure(.notTaken(error)))
        }
    }

    private static func result(
        _ outcome: PushOutcome, _ details: PushDetails?
    ) -> Result<PushDetails, ChannelProblem> {
        guard outcome.end == .answered else { return .failure(.unanswered(outcome.end)) }
        guard let details else { return .failure(.unreadable) }
        return details.answer.disposition == .accepted
            ? .success(details) : .failure(.refused(details.answer))
    }
}
