//! Recorded configurations and whole responses, where the shared data are present.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::codec::json::{read, write};
use milepost::config::{ProtocolConfigView, ShardLayout, check};
use serde_json::Value;

use crate::oracle;

/// The folder of the shared data, beside the repository or where `MILEPOST_SHARED` says
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let folder = std::env::var_os("MILEPOST_SHARED").map_or(beside, PathBuf::from).join("data");
    if !folder.is_dir() {
        println!("skipped: no shared data in {}", folder.display());
        return None;
    }
    Some(folder)
}

/// The texts of the recorded configurations in this folder
fn configurations(folder: PathBuf) -> Vec<String> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files
        .retain(|file| file.file_name().unwrap().to_string_lossy().starts_with("protocol_config_"));
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn serialised_configurations_survive() {
    let Some(data) = shared() else { return };
    let texts = configurations(data.join("views"));
    assert_eq!(texts.len(), 20);
    for text in texts {
        let expected = oracle::sorted(&serde_json::from_str(&text).unwrap());
        assert_eq!(write(&read::<ProtocolConfigView>(&text).unwrap()), expected);
        assert_eq!(check(&text).unwrap().text, expected);
        assert_eq!(oracle::rewritten(&expected), expected);
    }
}

#[test]
fn responses_are_served_byte_for_byte() {
    let Some(data) = shared() else { return };
    let texts = configurations(data.join("wire"));
    assert_eq!(texts.len(), 4);
    for text in texts {
        let checked = check(&text).unwrap();
        // The result stands in the response exactly as it will be served.
        let (_, tail) = text.split_once("\"result\":").unwrap();
        assert!(tail.starts_with(&checked.text));
        assert!(tail[checked.text.len()..].starts_with(",\"id\":"));
        assert_eq!(write(&read::<ProtocolConfigView>(&checked.text).unwrap()), checked.text);
    }
}

#[test]
fn a_configuration_recorded_in_2021_survives() {
    let Some(data) = shared() else { return };
    let file = fs::read_to_string(data.join("rpc/config_testnet_50.json")).unwrap();
    let recorded: Value = serde_json::from_str(&file).unwrap();
    let text = oracle::sorted(&recorded["response"]);
    let view: ProtocolConfigView = read(&text).unwrap();
    assert_eq!(view.protocol_version, 50);
    assert_eq!(view.shard_layout, None);
    assert_eq!(
        view.extra.find("avg_hidden_validator_seats_per_shard").unwrap().as_str(),
        "[0,0,0,0]"
    );
    assert_eq!(write(&view), text);
    assert_eq!(check(&text).unwrap().text, text);
}

#[test]
fn recorded_layouts_survive() {
    let Some(data) = shared() else { return };
    let file = fs::read_to_string(data.join("views/shard_layouts.json")).unwrap();
    let layouts: Vec<Value> = serde_json::from_str(&file).unwrap();
    assert!(layouts.len() >= 7);
    for layout in layouts {
        let text = oracle::sorted(&layout);
        assert_eq!(write(&read::<ShardLayout>(&text).unwrap()), text);
    }
}
