import Identifiers
import Testing

@testable import APNsSimulator

/// Channels from creation to deletion, and their visibility.
@Suite struct ChannelTests {
    @Test func `a channel is created, read, listed, used and deleted`() async throws {
        let phones = KnownTokens()
        let simulator = try RunningSimulator(phones: phones)
        let bearer = simulator.makeProviderToken()
        let manager = simulator.client(channels: true)
        var ids: [String] = []
        for policy in ["0", "1"] {
            let created = await manager.send(.create(bearer, policy: policy))
            #expect(created.status == 201 && created.body.isEmpty)
            #expect(created.headers["apns-request-id"] == TestRequest.id)
            ids.append(try #require(created.headers["apns-channel-id"]))
        }
        let read = await manager.send(.manage("GET", bearer, channel: ids[1]))
        #expect(read.status == 200)
        #expect(read.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        let listPath = "/1/apps/\(RunningSimulator.app)/all-channels"
        let list = await manager.send(.manage("GET", bearer).at(listPath))
        #expect(list.status == 200)
        #expect(list.body == #"{"channels":["\#(ids[0])","\#(ids[1])"]}"#)

        let client = simulator.client()
        for id in ids { #expect(await client.send(.broadcast(bearer, channel: id)).status == 200) }
        #expect(phones.delivered.map(\.isStored) == [false, true])
        #expect(phones.delivered.map(\.target) == ids.map { .channel($0) })

        let deleted = await manager.send(.manage("DELETE", bearer, channel: ids[0]))
        #expect(deleted.status == 204 && deleted.body.isEmpty)
        let broadcastAfterDeletion = await client.send(.broadcast(bearer, channel: ids[0]))
        #expect(
            broadcastAfterDeletion.status == 400
                && broadcastAfterDeletion.reason == "ChannelNotRegistered")
        #expect(
            await manager.send(.manage("GET", bearer).at(listPath)).body == #"{"channels":["\#(ids[1])"]}"#)
    }

    @Test func `environments and apps share no channels`() async throws {
        let simulator = try RunningSimulator()
        let bearer = simulator.makeProviderToken()
        let created = await simulator.client(channels: true).send(.create(bearer))
        let id = try #require(created.headers["apns-channel-id"])
        let fromSandbox = await simulator.client(.sandbox, channels: true).send(
            .manage("GET", bearer, channel: id))
        #expect(fromSandbox.reason == "ChannelNotRegistered")
        let fromOtherApp = await simulator.client(channels: true).send(
            .manage("GET", bearer, channel: id).at("/1/apps/com.example.other/channels"))
        #expect(fromOtherApp.reason == "ChannelNotRegistered")
    }

    @Test func `a channel request that a fault answers is not carried out`() async throws {
        let simulator = try RunningSimulator(
            faultInjector: FaultsByRequest { request in
                request.kind == .createChannel
                    ? InjectedFault(
                        requestFault: .answer(
                            status: 500, reason: "InternalServerError", timestamp: nil, retryAfterSeconds: nil
                        ))
                    : .none
            })
        let bearer = simulator.makeProviderToken()
        let manager = simulator.client(channels: true)
        #expect(await manager.send(.create(bearer)).status == 500)
        let list = await manager.send(
            .manage("GET", bearer).at("/1/apps/\(RunningSimulator.app)/all-channels"))
        #expect(list.body == #"{"channels":[]}"#)
    }

    @Test func `an id is base64 of any length`() {
        for id in ["AAAA", "QUJDRA==", "QUJDREU=", "dHN0LXNyY2gtY2hubA==", "a+/B"] {
            #expect(Channels.isID(id), "\(id)")
        }
        for notID in ["", "=", "AAA", "A===", "AA=A", "AAA-", "AAAA ", "====", "ÄÄ=="] {
            #expect(!Channels.isID(notID), "\(notID)")
        }
    }
}
