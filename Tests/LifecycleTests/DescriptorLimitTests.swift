import Lifecycle
import Testing

/// The limit of open files: what a process needs, and what it says if the limit is too low.
struct DescriptorLimitTests {
    @Test(arguments: [(1_024, true), (1_399, true), (1_400, false), (524_288, false)])
    func `a process does not start below the number of descriptors that it needs`(
        softLimit: Int, isRefused: Bool
    ) {
        let shortage = DescriptorLimit(soft: softLimit, hard: softLimit).shortage(needed: 1_400)
        #expect((shortage != nil) == isRefused)
    }

    @Test func `the refusal has both figures and the ways to raise the limit`() throws {
        let text = try #require(DescriptorLimit(soft: 900, hard: 901).shortage(needed: 1_400))
        for part in ["needs 1400", "limit is 900", "hard limit 901", "LimitNOFILE=", "ulimits:", "ulimit -n"]
        {
            #expect(text.contains(part), "\(part): \(text)")
        }
    }

    @Test func `raising sets the soft limit to the hard limit`() throws {
        DescriptorLimit.raise()
        let limit = try #require(DescriptorLimit.current)
        #expect(limit.soft == limit.hard)
    }
}
