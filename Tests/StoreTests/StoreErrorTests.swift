import Store
import Testing

@Test func `an error names the directory of its file, and no other directory`() {
    // The directory of the installation has the name of a lane's directory.
    let lane = "/data/registry-1/slots/0/registry-1"
    let view = "/data/registry-1/slots/0/starts-1"
    let damage = StoreError.corrupt(path: "\(view)/data.mdb", damage: "a row fails its checksum")
    #expect(damage.isAbout(directory: view))
    #expect(!damage.isAbout(directory: lane))
    #expect(!StoreError.diskFull(path: "\(lane)0/data.mdb").isAbout(directory: lane))
    #expect(StoreError.refused(path: lane, reason: "it is closed").isAbout(directory: lane))
    #expect(!StoreError.invalidKeySize(bytes: 0).isAbout(directory: lane))
}
