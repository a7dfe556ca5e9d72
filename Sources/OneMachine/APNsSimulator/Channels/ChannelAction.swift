internal import APNs
internal import JSON

/// The action of a valid request to the channel-management port. It is carried out when the request is
/// answered, so that a fault can prevent it.
enum ChannelAction {
    case create(Channels.StoragePolicy)
    /// Reads the policy of the channel with this id.
    case read(String)
    /// Deletes the channel with this id.
    case delete(String)
    /// Lists the ids of the app's channels.
    case list
}

/// The successful answer to an action.
struct ChannelAnswer {
    /// HTTP status.
    var status: Int
    /// Id of the created channel.
    var channelID: String?
    /// JSON, or empty.
    var body: [UInt8] = []
}

extension Channels {
    /// Carries out an action. Channels may have changed since the request was checked, so it can fail.
    func perform(_ action: ChannelAction, for app: App) -> Result<ChannelAnswer, RequestValidator.Refusal> {
        switch action {
        case .create(let policy):
            guard let id = create(policy, of: app) else {
                return .failure(RequestValidator.Refusal(reason: .cannotCreateChannel))
            }
            return .success(ChannelAnswer(status: 201, channelID: id))
        case .read(let id):
            guard let policy = policy(of: id, app: app) else {
                return .failure(RequestValidator.Refusal(reason: .channelNotRegistered))
            }
            return .success(ChannelAnswer(status: 200, body: Channels.body(of: policy)))
        case .delete(let id):
            guard delete(id, of: app) else {
                return .failure(RequestValidator.Refusal(reason: .channelNotRegistered))
            }
            return .success(ChannelAnswer(status: 204))
        case .list: return .success(ChannelAnswer(status: 200, body: Channels.body(of: ids(of: app))))
        }
    }

    /// Returns `{"message-storage-policy": 1, "push-type": "LiveActivity"}`.
    private static func body(of policy: StoragePolicy) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        writer.name("message-storage-policy")
        writer.value(policy.rawValue)
        writer.name("push-type")
        writer.value("LiveActivity")
        writer.endObject()
        return writer.bytes
    }

    /// Returns `{"channels": ["…"]}`.
    private static func body(of ids: [String]) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("channels")
        writer.beginArray()
        for id in ids { writer.value(id) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
