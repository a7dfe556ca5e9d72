import Foundation
import ProcessTesting
import Testing

/// `flotilla doctor` on the installation of a demonstration: first a healthy one, then one fault after
/// another.
struct DoctorTests {
    /// Runs the doctor with the installation's broker and sealing keys.
    private func doctor(_ installation: DemonstratedInstallation, _ arguments: [String]) async throws
        -> Answer
    {
        try await flotilla(
            [
                "doctor", "--kafka-brokers", installation.broker, "--tokens-sealing-keys-file",
                installation.sealingKeys,
            ] + arguments)
    }

    @Test func `the doctor checks a whole installation and each app's key, and reports what is wrong`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let installation = try await DemonstratedInstallation(in: directory)
        let keys = try installation.senderKeys(in: directory)
        let pushFlags = [
            "--sender-keys", keys, "--sender-apns-production", installation.apns, "--sender-apns-authorities",
            installation.authorities,
        ]
        let healthy = try await doctor(installation, pushFlags)
        #expect(healthy.status == 0, "\(healthy)")
        for line in [
            "good   descriptors", "good   kafka", "good   topics", "good   clock", "good   sealing keys",
            "good   provider keys",
        ] {
            #expect(healthy.output.contains(line), "\(line): \(healthy.output)")
        }
        #expect(
            healthy.output.contains(#/good +apns com.example.scores production +takes the key FLOTILLA01/#))
        #expect(healthy.output.contains(#/doubt +app demo +anyone who extracts the report key/#))

        // The doctor finds the sealing keys in the data directory of `flotilla up`.
        let withDataDirectory = try await flotilla(
            "doctor", "--kafka-brokers", installation.broker, "--no-push", "--up-data",
            installation.dataDirectory)
        #expect(
            withDataDirectory.status == 0 && withDataDirectory.output.contains("good   sealing keys"),
            "\(withDataDirectory)")

        // It also finds them without an option, because the process announces its data directory.
        let unaided = try await flotilla("doctor", "--kafka-brokers", installation.broker, "--no-push")
        #expect(unaided.status == 0 && unaided.output.contains("good   sealing keys"), "\(unaided)")

        // One fault after another: other sealing keys, no provider key, no APNs, another number of lanes.
        let otherKeys = directory.path + "/other-sealing-keys"
        #expect(try await flotilla("sealing-keys", "make", otherKeys).status == 0)
        let unsealed = try await flotilla(
            "doctor", "--kafka-brokers", installation.broker, "--no-push", "--tokens-sealing-keys-file",
            otherKeys)
        #expect(
            unsealed.status == ExitCode.configuration
                && unsealed.output.contains("not this installation's sealing keys"), "\(unsealed)")

        let unsigned = try await doctor(
            installation, ["--sender-keys", directory.path, "--no-push", "--json"])
        #expect(unsigned.status == ExitCode.configuration, "\(unsigned)")
        #expect(unsigned.output.contains(#""subject":"app demo","verdict":"wrong""#), "\(unsigned.output)")

        let elsewhere = try await doctor(
            installation, ["--sender-keys", keys, "--sender-apns-production", "127.0.0.1:1"])
        #expect(elsewhere.status == ExitCode.configuration, "\(elsewhere)")
        #expect(elsewhere.output.contains(#/wrong +apns .* no answer/#), "\(elsewhere.output)")

        let topics = try await doctor(installation, ["--topics-lanes", "6", "--no-push"])
        #expect(
            topics.status == ExitCode.configuration
                && topics.output.contains("has 12 partitions, 6 are needed"), "\(topics)")
    }

    @Test func `the doctor reports a missing broker and continues with the other checks`() async throws {
        let answer = try await flotilla("doctor", "--kafka-brokers", "127.0.0.1:1")
        #expect(answer.status == ExitCode.configuration)
        #expect(answer.output.contains(#/wrong +kafka +does not answer at 127.0.0.1:1/#), "\(answer)")
        #expect(answer.output.contains(#/doubt +provider keys/#), "\(answer)")
    }
}
