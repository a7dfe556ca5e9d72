import Settings
import Testing

@testable import Webhooks

/// Tests of the addresses that a webhook may call.
struct NetworkGuardTests {
    @Test(arguments: [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1",
        "64:ff9b::a00:1", "2002:a00:1::", "ff02::1", "no address",
    ])
    func `an address that is not public is refused`(_ address: String) {
        #expect(NetworkGuard(allowing: []).problem(with: address) != nil)
    }

    @Test(arguments: ["93.184.216.34", "8.8.8.8", "2606:4700::1111"])
    func `a public address is allowed`(_ address: String) {
        #expect(NetworkGuard(allowing: []).problem(with: address) == nil)
    }

    @Test func `a setting allows one private network and no other`() throws {
        let networks = NetworkGuard(allowing: [try #require(AddressRange("10.1.0.0/16"))])
        #expect(networks.problem(with: "10.1.2.3") == nil)
        #expect(networks.problem(with: "10.2.2.3") != nil)
    }
}
