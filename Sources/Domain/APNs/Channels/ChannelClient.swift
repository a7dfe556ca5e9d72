internal import HTTP2
internal import JSON
internal import Lifecycle

/// A client of Apple's hosts for the management of broadcast channels: it creates, reads, deletes and lists the
/// channels of an app. It is meant for a few calls a minute: each call is one request.
package struct ChannelClient: Sendable {
    /// Apple's limit on channels for each app and environment.
    package static let countPerAppMax = 10_000
    /// Time to wait for an answer.
    private static let deadlineMilliseconds = 15_000
    /// The characters of a valid path: printable ASCII without spaces.
    private static let printableASCII = UInt8(0x21)...0x7E

    private let client: LoopOwned<APNsClient>

    /// Call on the client's loop.
    package init(client: APNsClient) { self.client = LoopOwned(client, on: client.loop) }

    /// Creates a channel and returns its id. The id is random, and is valid only for this app and
    /// environment.
    package func createChannel(for profile: PushProfile, storing storage: ChannelStoragePolicy)
        async throws(ChannelError)
        -> String
    {
        var body = JSONWriter(capacity: 64)
        body.beginObject()
        body.name("message-storage-policy")
        body.value(storage.rawValue)
        body.name("push-type")
        body.value("LiveActivity")
        body.endObject()
        let details = try await sendRequest(for: profile, method: "POST", to: "channels", body: body.bytes)
        guard let id = details.channelID, !id.isEmpty else { throw .malformedResponse }
        return id
    }

    /// Returns the storage policy of a channel.
    package func storagePolicy(for profile: PushProfile, ofChannel channelID: String)
        async throws(ChannelError)
        -> ChannelStoragePolicy
    {
        let details = try await sendRequest(for: profile, method: "GET", to: "channels", channelID: channelID)
        let policy = try? JSONReader().read(details.body) {
            $0.object()["message-storage-policy"].int(in: 0...1)
        }
        guard let policy, let storage = ChannelStoragePolicy(rawValue: policy) else {
            throw .malformedResponse
        }
        return storage
    }

    /// Deletes a channel. Messages in transit may still arrive.
    package func deleteChannel(for profile: PushProfile, id channelID: String) async throws(ChannelError) {
        _ = try await sendRequest(for: profile, method: "DELETE", to: "channels", channelID: channelID)
    }

    /// Returns the ids of all channels.
    package func listChannels(for profile: PushProfile) async throws(ChannelError) -> [String] {
        let details = try await sendRequest(for: profile, method: "GET", to: "all-channels")
        let list = try? JSONReader().read(details.body) { value in
            var ids: [String] = []
            var elements = value.object()["channels"].array(countMax: ChannelClient.countPerAppMax)
            while let element = elements.next() { ids.append(element.string()) }
            return ids
        }
        guard let list else { throw .malformedResponse }
        return list
    }

    // MARK: One request

    /// Sends a request from the client's loop and awaits its answer.
    ///
    /// - Parameter resource: the end of the path, `channels` or `all-channels`.
    private func sendRequest(
        for profile: PushProfile, method: String, to resource: String, channelID: String? = nil,
        body: [UInt8] = []
    ) async throws(ChannelError) -> PushDetails {
        let answer = await withCheckedContinuation { continuation in
            let isLoopRunning = client.execute { client in
                Self.beginRequest(
                    for: profile, method: method, to: resource, channelID: channelID, body: body, by: client
                ) {
                    continuation.resume(returning: $0)
                }
            }
            if !isLoopRunning { continuation.resume(returning: .failure(.notAccepted(.stopped))) }
        }
        return try answer.get()
    }

    /// Sends a request. Called on the client's loop.
    ///
    /// - Parameter completion: receives the answer, or the reason for its absence.
    private static func beginRequest(
        for profile: PushProfile, method: String, to resource: String, channelID: String?, body: [UInt8],
        by client: APNsClient,
        then completion: @escaping @Sendable (Result<PushDetails, ChannelError>) -> Void
    ) {
        let endpoint = client.provider.settings.hosts(for: profile.environment).channels
        let pool = client.pool(
            for: ConnectionPool.Key(endpoint: endpoint, profile: profile, purpose: .channelManagement))
        let path = "/1/apps/\(profile.bundleID)/\(resource)"
        let headers = channelID.map { [HeaderField(name: "apns-channel-id", value: $0)] } ?? []
        let isValidPath = path.utf8.allSatisfy { Self.printableASCII.contains($0) }
        guard isValidPath,
            let template = try? PushTemplate(
                .fixed(path: Array(path.utf8)), method: method, headers: headers, body: body, pool: pool)
        else { return completion(.failure(.invalidIdentifier)) }
        let deadline = client.loop.now.advanced(byMilliseconds: ChannelClient.deadlineMilliseconds)
        do {
            try client.sendRequest(template, within: PushDeadlines(deadline: deadline)) { outcome, details in
                completion(ChannelClient.result(of: outcome, details: details))
            }
        } catch {
            completion(.failure(.notAccepted(error)))
        }
    }

    private static func result(
        of outcome: PushOutcome, details: PushDetails?
    ) -> Result<PushDetails, ChannelError> {
        guard outcome.end == .answered else { return .failure(.unanswered(outcome.end)) }
        // A plain 200 has no details, but the answer to every channel request has a body or another status.
        guard let details else { return .failure(.malformedResponse) }
        return details.response.disposition == .accepted
            ? .success(details) : .failure(.refused(details.response))
    }
}
